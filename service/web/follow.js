/**
 * Follows a game: what happened, in order, each event once.
 *
 * By the stream; where something on the way holds the stream back, by long polls. After a break it goes on behind the
 * last event that it has. Not by `EventSource`, which cannot send a token.
 */

import { backoff, get, open, pause, Problem } from "./api.js";

const FIRST_WORD_WITHIN_MS = 5_000;
const SILENCE_AT_MOST_MS = 35_000; // the service says something every 15 seconds
const STALE_AFTER_MS = 16_000;
const WAIT_SECONDS = 25;
const PAGE = 500;
const SHORTEST_STREAM_MS = 2_000;

/**
 * *hears* has `events(list)`, `view(game)` after which what was known before does not count, `isOver()`,
 * `connected(isConnected)` and `gone(problem)`, the end. *lastSeq* is the last event known.
 */
export class Follower {
  constructor(id, token, lastSeq, hears) {
    Object.assign(this, { id, token, lastSeq, hears });
    this.path = `games/${id}`;
    this.canStream = true;
    this.shortStreams = 0;
    this.heardAt = 0;
    this.stopped = new AbortController();
    this.current = new AbortController();
    this.reconnect = this.reconnect.bind(this);
    for (const [target, name] of [
      [window, "online"],
      [window, "offline"],
      [document, "visibilitychange"],
    ]) {
      target.addEventListener(name, this.reconnect, { signal: this.stopped.signal });
    }
    this.run();
  }

  stop() {
    this.stopped.abort();
    this.current.abort();
  }

  /** The network went or came, or somebody looks again: what waits now may wait for nothing. */
  reconnect({ type }) {
    const isStale = performance.now() - this.heardAt > STALE_AFTER_MS;
    if (type === "offline") this.hears.connected(false);
    if (type !== "visibilitychange" || (isStale && document.visibilityState === "visible")) this.current.abort();
  }

  async run() {
    let failures = 0;
    while (!this.stopped.signal.aborted) {
      this.current = new AbortController();
      try {
        await this.hear();
        failures = 0;
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        if (error instanceof Problem) return this.hears.gone(error);
        this.hears.connected(false);
        failures += 1;
        // offline there is nothing to try: `pause` ends when the network is back
        await pause(navigator.onLine ? backoff(failures) : 600_000, this.stopped.signal).catch(() => {});
      }
    }
  }

  /** Until there was news, or nothing for a while. */
  hear() {
    if (this.hears.isOver()) return this.waitForRematch();
    return this.canStream ? this.readStream() : this.pollEvents();
  }

  alive() {
    this.heardAt = performance.now();
    this.hears.connected(true);
  }

  async pollEvents() {
    const path = `${this.path}/events?after=${this.lastSeq}&limit=${PAGE}&wait=${WAIT_SECONDS}`;
    const since = performance.now();
    const page = await get(path, this.token, { signal: this.current.signal, withinMs: (WAIT_SECONDS + 10) * 1000 });
    this.alive();
    this.told(page.events);
    await this.restIfEarly(page.events.length > 0, since);
  }

  /** A finished game has one more thing to say: which game comes next. */
  async waitForRematch() {
    const version = this.hears.version();
    const since = performance.now();
    const path = `${this.path}?after_version=${version}&wait=${WAIT_SECONDS}`;
    const view = await get(path, this.token, { signal: this.current.signal, withinMs: (WAIT_SECONDS + 10) * 1000 });
    this.alive();
    this.hears.view(view);
    await this.restIfEarly(view.version > version, since);
  }

  /** Where too many wait already, answers come at once and without news. */
  async restIfEarly(isNews, since) {
    if (!isNews && performance.now() - since < 1000 * (WAIT_SECONDS - 1)) await pause(backoff(2), this.stopped.signal);
  }

  told(events) {
    const news = events.filter((event) => event.seq > this.lastSeq);
    if (news.length === 0) return;
    this.lastSeq = news.at(-1).seq;
    this.hears.events(news);
  }

  async readStream() {
    const silence = this.current;
    const since = performance.now();
    let isHeldBack = false;
    let comesBackAfterMs = backoff(1);
    let timer = setTimeout(() => {
      isHeldBack = true;
      silence.abort();
    }, FIRST_WORD_WITHIN_MS);
    try {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": String(this.lastSeq) };
      const response = await open(`${this.path}/events/stream`, this.token, headers, silence.signal);
      for await (const message of messages(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_AT_MOST_MS);
        this.alive();
        if (message.retry) comesBackAfterMs = Number(message.retry);
        this.heard(message);
      }
    } catch (error) {
      if (!isHeldBack) throw error;
      // somebody on the way keeps it until it is complete
      this.canStream = false;
      return;
    } finally {
      clearTimeout(timer);
    }
    this.shortStreams = performance.now() - since < SHORTEST_STREAM_MS ? this.shortStreams + 1 : 0;
    if (this.shortStreams > 3) this.canStream = false;
    if (!this.hears.isOver()) await pause(comesBackAfterMs, this.stopped.signal);
  }

  heard({ event, data, id }) {
    if (data === undefined) return;
    if (event === "snapshot") {
      this.lastSeq = Number(id);
      this.hears.view(JSON.parse(data));
    } else {
      this.told([JSON.parse(data)]);
    }
  }
}

/** The messages of an event stream, as `{id, event, data, retry}` with what each has; a comment has none of them. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      const whole = text.split("\n\n");
      text = whole.pop();
      for (const message of whole) yield Object.fromEntries(message.split("\n").map(field));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function field(line) {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
