/**
 * What lies on the table, one event after the other.
 *
 * One commit may hold many events: your card, three bots', the trick, the next deal. The service's view shows only how
 * it ended. So the table is drawn from `shown`, which runs behind the view: `after` lays each event on it, with time to
 * look, and when all are shown the view itself takes its place. No rules are known here: an event says what it did.
 */

const PAUSES_MS = {
  game_started: 400,
  pack_cut: 700,
  hand_dealt: 700,
  vira_shown: 600,
  raised: 1100,
  accepted: 800,
  folded: 900,
  card_played: 650,
  trick_won: 1200,
  trick_tied: 1200,
  cards_shown: 1500,
  hand_won: 2200,
  hand_tied: 1800,
  penalty: 2000,
  timed_out: 700,
  stood_in: 700,
  resigned: 1200,
};
export const PACES = { calm: 1, quick: 0.4, instant: 0 };
/** What all that waits may take at most; where a clock runs, little. */
const LONGEST_MS = { clock: 3_000, noClock: 12_000 };

/** *hears* has `shown()` when there is something new to draw, and `happened(event, before)` for each event. */
export class Playback {
  /** *pace* gives a name of `PACES`. */
  constructor(view, pace, hears) {
    this.truth = view;
    this.shown = view;
    this.pace = pace;
    this.hears = hears;
    this.queue = [];
    this.timer = null;
    this.share = 1;
  }

  get isBehind() {
    return this.timer !== null;
  }

  /** The service's latest view, and the events, in order, that led to it. */
  tell(view, events = []) {
    if (view.version >= this.truth.version) this.truth = view;
    for (const event of events) {
      // what lies on the table already, after a jump, is told but not shown again
      if (event.version > this.shown.version) this.queue.push(event);
      else this.hears.happened(event, this.shown);
    }
    this.share = this.shareOfPauses();
    if (!this.isBehind) this.step();
  }

  /** Show how it stands now; *view* counts whatever its version, for a store that failed may have gone back. */
  jump(view = this.truth) {
    clearTimeout(this.timer);
    this.timer = null;
    this.truth = view;
    for (const event of this.queue.splice(0)) this.happens(event);
    this.shown = view;
    this.hears.shown();
  }

  stop() {
    clearTimeout(this.timer);
  }

  step() {
    this.timer = null;
    const event = this.queue.shift();
    if (event === undefined) return this.jump();
    const ms = this.pauseFor(event);
    this.happens(event);
    if (ms === 0) return this.step();
    this.timer = setTimeout(() => this.step(), ms);
    this.hears.shown();
  }

  happens(event) {
    const before = this.shown;
    this.shown = after(event, before, this.truth);
    this.hears.happened(event, before);
  }

  /** Time to look at *event*; none while nobody looks. */
  pauseFor(event) {
    if (document.visibilityState === "hidden") return 0;
    return PACES[this.pace()] * this.share * msOf(event);
  }

  /** The share of the usual pauses that there is time for. */
  shareOfPauses() {
    const most = this.truth.turn?.deadline ? LONGEST_MS.clock : LONGEST_MS.noClock;
    const all = this.queue.reduce((sum, event) => sum + msOf(event), 0);
    return Math.min(1, most / all);
  }
}

function msOf(event) {
  return PAUSES_MS[event.type] ?? 0;
}

/** *view* with *event* laid on it. *truth*, the latest view, lends what no event may say: the viewer's own cards. */
export function after(event, view, truth) {
  const change = CHANGES[event.type];
  const next = { ...view, legal_actions: [], turn: null };
  return change ? { ...next, ...change(next, event, truth) } : next;
}

const CHANGES = {
  seat_joined: (view, { seat, data }) => seated(view, seat, { name: data.name, kind: data.kind }),
  seat_left: (view, { seat }) => seated(view, seat, { name: null, kind: "open" }),
  game_started: () => ({ status: "playing" }),
  stood_in: (view, { seat }) => seated(view, seat, { stand_in: true }),
  returned: (view, { seat }) => seated(view, seat, { stand_in: false }),
  hand_dealt: (view, { data }, truth) => ({
    hand: newHand(view, data),
    seats: view.seats.map((seat, place) => ({
      ...seat,
      cards_left: 3,
      cards: truth.hand?.number === data.number ? truth.seats[place].cards : null,
    })),
  }),
  vira_shown: (view, { data }) => handed(view, { vira: data.vira, manilhas: data.manilhas }),
  raised: (view, { seat, data }) => {
    if (data.penalty) return {};
    const waiting = view.hand?.raise;
    const accepted = waiting ? { value: waiting.to, raised_by: waiting.team } : {};
    return handed(view, { ...accepted, phase: "answer", raise: { seat, team: view.seats[seat].team, to: data.to } });
  },
  accepted: (view, { data }) => {
    const waiting = view.hand?.raise;
    return handed(view, {
      value: data.value,
      phase: "play",
      raise: null,
      ...(waiting ? { raised_by: waiting.team } : {}),
    });
  },
  folded: (view) => handed(view, { raise: null }),
  card_played: (view, event, truth) => ({ ...played(view, event), ...cardLeft(view, event, truth) }),
  trick_won: (view, { seat }) => lastTrick(view, { winner: seat }),
  trick_tied: (view) => lastTrick(view, { tied: true }),
  hand_won: (view, { data }) => ({ ...handed(view, { phase: "over", raise: null }), ...scored(view, data.score) }),
  hand_tied: (view, { data }) => ({ ...handed(view, { phase: "over" }), ...scored(view, data.score) }),
  penalty: (view, { data }) => ({ ...handed(view, { phase: "over", raise: null }), ...scored(view, data.score) }),
  game_won: (view, { data }) => ({ result: { winner: data.team, reason: data.reason } }),
  rematch_created: (view, { data }) => ({ rematch_id: data.id }),
};

function newHand(view, { number, kind, dealer }) {
  const { ladder, manilhas } = view.rules;
  return {
    number,
    kind,
    dealer,
    phase: "play",
    value: kind === "mao_de_onze" ? ladder[1] : ladder[0],
    vira: null,
    manilhas: manilhas === "vira" ? null : manilhas,
    to_play: null,
    raise: null,
    raised_by: null,
    tricks: [],
  };
}

function seated(view, place, members) {
  return { seats: view.seats.map((seat, each) => (each === place ? { ...seat, ...members } : seat)) };
}

function handed(view, members) {
  return view.hand ? { hand: { ...view.hand, ...members } } : {};
}

function scored(view, teams) {
  return { score: { ...view.score, teams } };
}

function lastTrick(view, members) {
  const tricks = view.hand?.tricks ?? [];
  return handed(view, {
    tricks: tricks.map((trick, place) => (place === tricks.length - 1 ? { ...trick, ...members } : trick)),
  });
}

function played(view, { seat, data }) {
  const tricks = view.hand?.tricks ?? [];
  const last = tricks.at(-1);
  const play = { seat, card: data.card, covered: data.covered };
  const isNew = !last || last.winner !== null || last.tied;
  return handed(view, {
    to_play: null,
    tricks: isNew
      ? [...tricks, { opener: seat, plays: [play], winner: null, tied: false }]
      : [...tricks.slice(0, -1), { ...last, plays: [...last.plays, play] }],
  });
}

/** The seat has a card less. Which of its covered ones an event does not say, so the viewer's own come from *truth*. */
function cardLeft(view, { seat, data }, truth) {
  const cards = view.seats[seat].cards;
  const stays = ({ slot, card }) => (data.card === null || card === null ? slot !== data.slot : card !== data.card);
  const isSameHand = truth.hand?.number === view.hand?.number;
  const left = cards && data.covered && isSameHand ? truth.seats[seat].cards : cards?.filter(stays);
  return seated(view, seat, { cards_left: view.seats[seat].cards_left - 1, cards: left ?? null });
}
