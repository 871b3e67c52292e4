// A whole match by the generated TypeScript client: `node play.js URL` prints what came of it, as JSON.
//
// The seats play at once, and each knows its own token only: it waits for news with the long poll, picks one of its
// `legal_actions` and sends it back as it is. Whatever gets lost is sent again, under the same `Idempotency-Key`.

import createClient, { type Client } from "openapi-fetch";
import type { Action, Game, paths, Problem } from "./schema.js";

const WAIT_SECONDS = 25;
const RARE: Partial<Record<Action["type"], number>> = { raise: 0.1, fold: 0.1 };
// how often beside a card, so that hands are played out

interface Answer<Body> {
  data?: Body;
  error?: Problem;
  response: Response;
}

class Refused extends Error {
  constructor(readonly problem: Problem | undefined) {
    super(JSON.stringify(problem));
  }
}

const happened = { waits: 0, early: 0, actions: 0, conflicts: 0, lost: 0, passing: 0, replayed: 0 };

async function main(baseUrl: string): Promise<void> {
  const key = crypto.randomUUID();
  const created = await ask(() =>
    createClient<paths>({ baseUrl }).POST("/v1/games", {
      params: { header: { "Idempotency-Key": key } },
      body: { variant: "mano-a-mano", players: [{ name: "Ana" }, { name: "Bruno" }], visibility: "public" },
    }),
  );
  const id = created.game.id;
  const clients = created.seats.map(({ token }) =>
    createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } }),
  );
  const views = await Promise.all(clients.map((client) => play(client, id)));
  const record = await ask(() =>
    createClient<paths>({ baseUrl }).GET("/v1/games/{id}/record", { params: { path: { id } } }),
  );
  if (typeof record === "string") throw new Error("the record came as text, which was not asked for");
  console.log(
    JSON.stringify({
      game: id,
      version: views.map((view) => view.version),
      winner: views.map((view) => view.result?.winner),
      score: record.score,
      recorded: record.hands.reduce((sum, hand) => sum + hand.actions.length, 0),
      ...happened,
    }),
  );
}

/** Until the game is over; the last view of the seat whose token *client* has. */
async function play(client: Client<paths>, id: string): Promise<Game> {
  let view = await ask(() => client.GET("/v1/games/{id}", { params: { path: { id } } }));
  while (view.status !== "finished") {
    const isMine = view.viewer.seat !== null && view.turn?.seats.includes(view.viewer.seat);
    view = isMine ? await act(client, id, choose(view.legal_actions)) : await wait(client, id, view.version);
  }
  return view;
}

/** The view once it is later than *version*, or as it was, after `WAIT_SECONDS` or when too many wait. */
async function wait(client: Client<paths>, id: string, version: number): Promise<Game> {
  const askedAt = performance.now();
  const view = await ask(() =>
    client.GET("/v1/games/{id}", {
      params: { path: { id }, query: { after_version: version, wait: WAIT_SECONDS } },
      signal: AbortSignal.timeout((WAIT_SECONDS + 10) * 1000),
    }),
  );
  happened.waits++;
  if (view.version === version && performance.now() - askedAt < WAIT_SECONDS * 1000) {
    happened.early++;
    await pause(1);
  }
  return view;
}

function choose(legal: Action[]): Action {
  const free = legal.filter((action) => action.penalty === undefined);
  const weights = free.map((action) => RARE[action.type] ?? 1);
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight);
  const chosen = free.find((_, place) => (left -= weights[place] ?? 0) < 0) ?? free[0];
  if (chosen === undefined) throw new Error("it is this seat's turn, and nothing is legal");
  return chosen;
}

async function act(client: Client<paths>, id: string, action: Action): Promise<Game> {
  const key = crypto.randomUUID();
  try {
    const { game, events } = await ask(() =>
      client.POST("/v1/games/{id}/actions", {
        params: { path: { id }, header: { "Idempotency-Key": key } },
        body: action,
      }),
    );
    if (events.length === 0) throw new Error("an action without an event");
    happened.actions++;
    return game;
  } catch (error) {
    if (!(error instanceof Refused) || error.problem?.status !== 409) throw error;
    happened.conflicts++;
    return error.problem.game ?? (await ask(() => client.GET("/v1/games/{id}", { params: { path: { id } } })));
  }
}

/** The body that answers *request*, which is sent until an answer comes that is more than "try again". */
async function ask<Body>(request: () => Promise<Answer<Body>>): Promise<Body> {
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, 30)) {
    let answer: Answer<Body>;
    try {
      answer = await request();
    } catch {
      happened.lost++;
      await pause(seconds);
      continue;
    }
    if (!isPassing(answer)) {
      if (answer.response.headers.get("Idempotency-Replayed") === "true") happened.replayed++;
      if (answer.data === undefined) throw new Refused(answer.error);
      return answer.data;
    }
    happened.passing++;
    await pause(Number(answer.response.headers.get("Retry-After") ?? seconds));
  }
}

function isPassing({ error, response }: Answer<unknown>): boolean {
  return error?.code === "request_in_progress" || [429, 500, 503].includes(response.status);
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error("usage: node play.js URL");
await main(url);
