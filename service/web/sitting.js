/**
 * Getting a seat: the three requests whose answers hold tokens.
 *
 * Each is written down before it is sent and crossed out when its tokens are kept. So a page that is loaded again in
 * between sends it again, with the same key, and is given the same seat.
 */

import { newKey, post, remove } from "./api.js";
import { choice, forgetUnanswered, keepGame, keepUnanswered, keptGame, unanswered } from "./kept.js";

/** Creates a game with this person on a seat, by createGame's body. Its id. */
export function create(order) {
  return ask({ does: "create", path: "games", body: order });
}

/** Takes a seat, the lowest open one unless *seat* names it. *code* is needed for a private game. The game's id. */
export function join(id, { name, seat, code = keptGame(id)?.joinCode }) {
  const wish = { name, ...(seat === undefined ? {} : { seat }), ...(code ? { join_code: code } : {}) };
  return ask({ does: "join", path: `games/${id}/seats`, body: wish, from: id });
}

/** The same seat in the next game. Its id. */
export function rematch(id) {
  return ask({ does: "rematch", path: `games/${id}/rematch`, token: keptGame(id).token, from: id });
}

/** Changes seats in the lobby; if somebody was faster, to any that is open. */
export async function move(id, seat, name) {
  await leave(id);
  try {
    return await join(id, { name, seat });
  } catch (error) {
    if (error.code !== "seat_taken") throw error;
    return join(id, { name });
  }
}

/** Gives the seat back; what this browser knows as the game's host stays. */
export async function leave(id) {
  const { seat, token } = keptGame(id);
  await remove(`games/${id}/seats/${seat}`, token);
  keepGame(id, { seat: null, token: null });
}

/** Seats a bot, as the host. */
export function seatBot(id, bot, seat) {
  return post(`games/${id}/seats`, { bot, seat }, { token: keptGame(id).hostToken });
}

/** Sends what an earlier load of this page was not answered; the id of the game that it leads to, or null. */
export async function resume() {
  let id = null;
  for (const [key, request] of unanswered()) {
    try {
      id = await carryOut(key, request);
    } catch {
      // refused by now: there is nothing to come back to
    }
  }
  return id;
}

function ask(request) {
  const key = newKey();
  keepUnanswered(key, request);
  return carryOut(key, request);
}

async function carryOut(key, request) {
  const { does, path, body, token } = request;
  const apiKey = does === "create" ? choice("apiKey") : null;
  try {
    const answer = await post(path, body, { token, key, apiKey });
    keep(answer, request);
    return answer.game.id;
  } finally {
    forgetUnanswered(key);
  }
}

function keep(answer, { does, from, body }) {
  const { game } = answer;
  const before = from === undefined ? null : keptGame(from);
  keepGame(game.id, {
    at: Date.now(),
    variant: game.variant,
    commitment: keptGame(game.id)?.commitment ?? game.shuffle.commitment,
    ...(does === "create"
      ? { ...answer.seats[0], hostToken: answer.host_token, joinCode: answer.join_code }
      : { seat: answer.seat, token: answer.token }),
    ...(does === "join" && body.join_code ? { joinCode: body.join_code } : {}),
    // in a rematch the host and the code stay
    ...(does === "rematch" && before ? { hostToken: before.hostToken, joinCode: before.joinCode } : {}),
  });
}
