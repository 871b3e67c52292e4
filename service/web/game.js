/**
 * One game as this browser follows it: what is drawn, what was said, and what the person may do about it.
 *
 * Screens draw a `Game` and call its verbs; it calls `redraw` whenever there is something new to draw.
 */

import { getPatiently, newKey, post, Problem, remove } from "./api.js";
import { Follower } from "./follow.js";
import { choice, forgetGame, keepGame, keptGame } from "./kept.js";
import { Playback } from "./playback.js";
import { announce, refusal, sentence, shout, verdict } from "./say.js";
import { words } from "./words.js";

const STORY_KEPT = 60;
const SHOUT_LASTS_MS = 2_600;

export class Game {
  constructor(id, redraw) {
    this.id = id;
    this.redraw = redraw;
    this.playback = null;
    /** Sentences of what happened, newest first. */
    this.story = [];
    /** What seats say just now, by seat: `{text, loud}`. */
    this.shouts = new Map();
    /** How the hand that just ended went, until the next is dealt. */
    this.verdict = null;
    this.isConnected = true;
    /** Why it cannot be shown: the code of a problem. */
    this.problem = null;
    /** Why the last action was refused: a code. */
    this.refused = null;
    /** The action that is on its way. */
    this.sending = null;
    this.isResent = false;
    this.covers = false;
    this.unseen = [];
    this.stopped = new AbortController();
    this.start();
  }

  get kept() {
    return keptGame(this.id) ?? {};
  }

  /** What it looks with: as a seat, else as the host, else as anybody. */
  get token() {
    return this.kept.token ?? this.kept.hostToken;
  }

  /** What is drawn. */
  get view() {
    return this.playback?.shown ?? null;
  }

  /** The events so far are shown; only then is there something to press. */
  get isAtRest() {
    return this.playback !== null && !this.playback.isBehind;
  }

  get me() {
    return this.view?.viewer.seat ?? null;
  }

  get isMyTurn() {
    return this.me !== null && (this.view.turn?.seats ?? []).includes(this.me);
  }

  /** Those of `legal_actions`, of a type if it is named; none while an action is on its way. */
  legal(type) {
    if (this.sending || !this.isAtRest) return [];
    return this.view.legal_actions.filter((action) => type === undefined || action.type === type);
  }

  stop() {
    this.stopped.abort();
    this.follower?.stop();
    this.playback?.stop();
  }

  /** With another token, or none. */
  restart() {
    this.stop();
    this.stopped = new AbortController();
    this.unseen = [];
    this.problem = null;
    this.start();
  }

  async start() {
    const { signal } = this.stopped;
    try {
      const past = await this.past(signal);
      const view = await getPatiently(`games/${this.id}`, this.token, signal);
      this.seen(view);
      this.playback = new Playback(view, () => choice("pace", "calm"), {
        shown: () => this.redraw(),
        happened: (event, before) => this.happened(event, before),
      });
      // the hand of then is not the hand of now
      this.story = past
        .map((event) => sentence(event, { ...view, hand: null }))
        .filter(Boolean)
        .reverse()
        .slice(0, STORY_KEPT);
      this.follower = new Follower(this.id, this.token, past.at(-1)?.seq ?? 0, {
        events: (events) => this.heard(events),
        view: (latest) => this.counts(latest),
        isOver: () => this.playback.truth.status === "finished",
        version: () => this.playback.truth.version,
        connected: (isConnected) => this.connected(isConnected),
        gone: (problem) => this.gone(problem),
      });
      this.redraw();
    } catch (error) {
      this.gone(error);
    }
  }

  /** All events that the service still has, for the story. */
  async past(signal) {
    const events = [];
    for (;;) {
      const after = events.at(-1)?.seq ?? 0;
      const page = await getPatiently(`games/${this.id}/events?after=${after}&limit=500`, this.token, signal);
      events.push(...page.events);
      if (page.events.length < 500) return events;
    }
  }

  /** News. They are shown when the view is here that they led to. */
  heard(events) {
    this.unseen.push(...events);
    this.look();
  }

  async look() {
    if (this.looking) return;
    this.looking = true;
    try {
      while (this.unseen.at(-1)?.version > this.playback.truth.version) {
        const view = await getPatiently(`games/${this.id}`, this.token, this.stopped.signal);
        this.seen(view);
        this.playback.tell(view, this.unseen.splice(0));
      }
      this.playback.tell(this.playback.truth, this.unseen.splice(0));
    } catch (error) {
      this.gone(error);
    } finally {
      this.looking = false;
    }
  }

  /** A view that came without events, in which the game may have gone back. */
  counts(view) {
    this.seen(view);
    if (view.version === this.playback.truth.version) return;
    this.playback.jump(view);
  }

  /** The commitment of the first view is kept: a record must keep it too. */
  seen(view) {
    const { commitment } = this.kept;
    keepGame(this.id, {
      commitment: commitment ?? view.shuffle.commitment,
      variant: view.variant,
      finished: view.status === "finished",
    });
  }

  connected(isConnected) {
    if (this.isConnected === isConnected) return;
    this.isConnected = isConnected;
    announce(isConnected ? words().connected : words().disconnected);
    this.redraw();
  }

  gone(error) {
    if (this.stopped.signal.aborted) return;
    if (!(error instanceof Problem)) throw error;
    this.problem = error.code;
    if (error.code === "game_not_found") forgetGame(this.id);
    this.redraw();
  }

  happened(event, before) {
    const said = sentence(event, before);
    if (said) {
      this.story = [said, ...this.story].slice(0, STORY_KEPT);
      announce(said);
    }
    if (event.type === "hand_dealt" || event.type === "pack_cut") this.verdict = null;
    this.verdict = verdict(event, before) ?? this.verdict;
    const loud = shout(event, before);
    if (loud) this.shouted(event.seat, loud);
  }

  shouted(seat, said) {
    this.shouts.set(seat, said);
    setTimeout(() => {
      if (this.shouts.get(seat) === said) this.shouts.delete(seat);
      this.redraw();
    }, SHOUT_LASTS_MS);
  }

  // ---- what the person does ----

  /** One of `legal_actions`, or resign. */
  async act(action) {
    if (this.sending) return;
    this.sending = action;
    this.refused = null;
    this.redraw();
    try {
      const acted = await post(`games/${this.id}/actions`, action, {
        token: this.kept.token,
        key: newKey(),
        signal: this.stopped.signal,
        waits: () => this.resending(true),
      });
      this.acted(acted);
    } catch (error) {
      this.wasRefused(error);
    } finally {
      this.sending = null;
      this.covers = false;
      this.resending(false);
    }
  }

  resending(isResent) {
    this.isResent = isResent;
    this.redraw();
  }

  /** The answer may overtake the stream. Then its view is shown, and the stream tells what happened a moment later. */
  acted({ game, events }) {
    this.seen(game);
    const { follower } = this;
    const news = events[0]?.seq <= follower.lastSeq + 1 ? events.filter((event) => event.seq > follower.lastSeq) : [];
    follower.lastSeq = news.at(-1)?.seq ?? follower.lastSeq;
    this.playback.tell(game, [...this.unseen.splice(0), ...news]);
  }

  wasRefused(error) {
    if (!(error instanceof Problem)) {
      if (this.stopped.signal.aborted) return;
      throw error;
    }
    // somebody was faster, or the clock: the view in the answer counts, and there is something else to choose
    if (error.game) this.counts(error.game);
    else if (error.status === 401 || error.status === 404) return this.gone(error);
    this.refused = error.code;
    announce(refusal(error.code));
  }

  resign() {
    return this.act({ type: "resign", expected_version: this.playback.truth.version });
  }

  /** The stand-in leaves; this person plays again. */
  async comeBack() {
    try {
      this.playback.tell(await post(`games/${this.id}/seats/${this.me}/return`, {}, { token: this.kept.token }));
    } catch (error) {
      this.wasRefused(error);
      this.redraw();
    }
  }

  /** As the host, before the start. */
  async cancel() {
    try {
      await remove(`games/${this.id}`, this.kept.hostToken);
    } catch (error) {
      if (error.code !== "game_not_found") throw error;
    }
    forgetGame(this.id);
  }

  async free(seat) {
    await remove(`games/${this.id}/seats/${seat}`, this.kept.hostToken);
  }

  catchUp() {
    this.playback.jump();
  }
}
