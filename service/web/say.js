/** Views and events in words: for the eye, and for those who listen. */

import { words } from "./words.js";

// ---- cards ----

export const suitOf = (card) => card.at(-1);
export const rankOf = (card) => card.slice(0, -1);
export const isSpanish = (deck) => deck === "spanish40";

export function rankName(rank) {
  return words().ranks[rank] ?? rank;
}

/** "3 of clubs", by the suits of *deck*; with its name if it is one of *manilhas*. */
export function cardName(card, deck, manilhas = null) {
  const suits = isSpanish(deck) ? words().spanishSuits : words().suits;
  const name = words().card(rankName(rankOf(card)), suits[suitOf(card)]);
  const manilha = manilhaName(card, manilhas);
  return manilha ? `${name}, ${manilha}` : name;
}

/** What a manilha is called: by its place where they are of clubs, hearts, spades and diamonds. null: it is none. */
export function manilhaName(card, manilhas) {
  const place = manilhas?.indexOf(card) ?? -1;
  if (place < 0) return null;
  return manilhas.map(suitOf).join("") === "CHSD" ? words().manilhaNames[place] : words().manilha;
}

/** Several cards in a line: "4♣ 7♥", or where a deck's suits are not among the letters "4 of clubs, 7 of cups". */
export function cardsText(cards, deck) {
  if (isSpanish(deck)) return cards.map((card) => cardName(card, deck)).join(", ");
  return cards.map((card) => rankOf(card) + SUIT_SIGNS[suitOf(card)]).join(" ");
}

const SUIT_SIGNS = { C: "♣", H: "♥", S: "♠", D: "♦" };

/** How the step of the ladder that is worth *value* is asked for: its name, or its number past the named ones. */
export function callOf(value, ladder) {
  const step = ladder.indexOf(value);
  return words().calls[step - 1] ?? String(step);
}

// ---- people ----

/** A bot sits there under its kind; at the table it has a name. */
export function nameOf(view, seat) {
  const { name, kind } = view.seats[seat];
  if (seat === view.viewer.seat) return words().you;
  return kind === "bot" ? words().botNames[seat] : (name ?? words().seat(seat + 1));
}

export function botName(kind) {
  return words().bot(words().bots[kind] ?? kind);
}

export function variantName(variant) {
  return variant.replaceAll("-", " ");
}

function joined(names) {
  const { and } = words();
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${and} ${names.at(-1)}`;
}

export function namesOf(view, seats) {
  return joined(seats.map((seat) => nameOf(view, seat)));
}

/** A team, as the viewer calls it; a spectator by its names. */
export function teamName(view, team) {
  if (view.viewer.team !== null) return team === view.viewer.team ? words().us : words().them;
  return namesOf(
    view,
    view.seats.filter((seat) => seat.team === team).map(({ seat }) => seat),
  );
}

/** The teams, the viewer's own (or that of seat 0) first. */
export function teamsInOrder(view) {
  const own = view.viewer.team ?? 0;
  return [own, 1 - own];
}

export function scoreText(view, points = view.score.teams) {
  const [own, other] = teamsInOrder(view);
  return words().score(teamName(view, own), points[own], teamName(view, other), points[other]);
}

// ---- what happened ----

/** A sentence for *event*, which happened to *view*; null for what needs none. */
export function sentence(event, view) {
  const say = SENTENCES[event.type];
  return say ? say(event, view) : null;
}

const SENTENCES = {
  seat_joined: ({ seat, data }, view) =>
    words().did.seat_joined(
      data.kind === "bot" ? words().botNames[seat] : seat === view.viewer.seat ? words().you : data.name,
    ),
  seat_left: ({ seat }) => words().did.seat_left(seat + 1),
  game_started: () => words().did.game_started,
  pack_cut: ({ seat, data }, view) =>
    [
      words().did.cut[data.cut](nameOf(view, seat), data.at),
      data.take_for === null ? "" : words().did.took(nameOf(view, data.take_for)),
    ]
      .join(" ")
      .trim(),
  hand_dealt: ({ data }, view) =>
    [words().did.hand_dealt(data.number, nameOf(view, data.dealer)), words().did[data.kind] ?? ""].join(" ").trim(),
  vira_shown: ({ data }, { rules }) =>
    words().did.vira_shown(cardName(data.vira, rules.deck), rankName(rankOf(data.manilhas[0]))),
  raised: ({ seat, data }, view) => words().did.raised(nameOf(view, seat), callOf(data.to, view.rules.ladder)),
  accepted: ({ seat, data }, view) =>
    words().did[data.of === "eleven" ? "accepted_eleven" : "accepted"](nameOf(view, seat), data.value),
  folded: ({ seat }, view) => words().did.folded(nameOf(view, seat)),
  card_played: ({ seat, data }, view) =>
    data.covered
      ? words().did.covered(nameOf(view, seat))
      : words().did.card_played(nameOf(view, seat), cardName(data.card, view.rules.deck, view.hand?.manilhas)),
  trick_won: ({ seat, data }, view) => words().did.trick_won(nameOf(view, seat), data.trick),
  trick_tied: ({ data }) => words().did.trick_tied(data.trick),
  cards_shown: ({ seat, data }, view) =>
    words().did.cards_shown(nameOf(view, seat), joined(data.cards.map((card) => cardName(card, view.rules.deck)))),
  hand_won: ({ data }, view) =>
    words().did.hand_won(teamName(view, data.team), data.points, scoreText(view, data.score)),
  hand_tied: ({ data }, view) => words().did.hand_tied(scoreText(view, data.score)),
  penalty: ({ seat, data }, view) =>
    words().did[data.kind](nameOf(view, seat), data.points, scoreText(view, data.score)),
  timed_out: ({ seat }, view) => words().did.timed_out(nameOf(view, seat)),
  stood_in: ({ seat }, view) => words().did.stood_in(nameOf(view, seat)),
  returned: ({ seat }, view) => words().did.returned(nameOf(view, seat)),
  resigned: ({ data }, view) => words().did.resigned(teamName(view, data.team)),
  game_won: ({ data }, view) => words().did.game_won(teamName(view, data.team)),
  rematch_created: () => words().did.rematch_created,
};

/** What the seat of *event* calls out, for its bubble: `{text, loud}`, or null. */
export function shout({ type, data }, view) {
  const { shouts } = words();
  if (type === "raised") return { text: `${callOf(data.to, view.rules.ladder)}!`, loud: true };
  if (type === "accepted") return { text: data.of === "eleven" ? shouts.eleven : shouts.accepted, loud: false };
  if (type === "folded") return { text: shouts.folded, loud: false };
  if (type === "timed_out") return { text: shouts.timed_out, loud: false };
  if (type === "cards_shown") return { text: shouts.shown, loud: false };
  return null;
}

/** How the hand ended, for the middle of the table: `{text, team, reason}`, or null if *event* does not end one. */
export function verdict({ type, seat, data }, view) {
  const { verdicts, handReasons } = words();
  if (type === "hand_won")
    return { text: verdicts.points(data.points), team: data.team, reason: handReasons[data.reason] };
  if (type === "hand_tied") return { text: verdicts.tied, team: null, reason: "" };
  if (type === "penalty" && data.points > 0) {
    return { text: verdicts.lost(data.points), team: view.seats[seat].team, reason: "" };
  }
  return null;
}

// ---- what now ----

/** What the game waits for. */
export function whatNow(game) {
  const { view } = game;
  const { turn } = words();
  if (game.sending) return game.isResent ? turn.resent : "";
  if (view.status === "finished") return turn.over;
  if (!view.turn) return "";
  const { kind, seats } = view.turn;
  const names = namesOf(view, seats);
  const others = { play: turn.of, cut: turn.cut, deal: turn.deal, eleven: turn.eleven };
  if (kind === "answer") {
    const call = callOf(view.hand.raise.to, view.rules.ladder);
    return game.isMyTurn ? turn.answerYours(nameOf(view, view.hand.raise.seat), call) : turn.answer(names, call);
  }
  if (!game.isMyTurn) return others[kind](names);
  if (kind === "eleven") return seats.length > 1 ? turn.elevenYours : turn.elevenYoursAlone;
  return { play: turn.yours, cut: turn.cutYours, deal: turn.dealYours }[kind];
}

/** Who may ask for how much next, as far as a view says. */
export function whoMayRaise(view) {
  const { mayRaise } = words();
  const { hand, rules, viewer } = view;
  const penalty = { mao_de_onze: rules.eleven_raise, mao_de_ferro: rules.iron_raise }[hand.kind];
  if (penalty) return mayRaise.penalty[penalty] ?? mayRaise.nobody;
  const worth = hand.raise?.to ?? hand.value;
  const next = rules.ladder[rules.ladder.indexOf(worth) + 1];
  if (next === undefined) return mayRaise.top;
  const call = callOf(next, rules.ladder);
  const raisedBy = hand.raise?.team ?? hand.raised_by;
  if (raisedBy === null) return mayRaise.anybody(call);
  if (viewer.team === null) return mayRaise.team(call, teamName(view, 1 - raisedBy));
  return raisedBy === viewer.team ? mayRaise.them(call) : mayRaise.us(call);
}

export function refusal(code) {
  const { problems } = words();
  return problems[code] ?? problems.other(code);
}

// ---- for those who listen ----

const SAID_KEPT = 12;

/** A sentence for screen readers, when they are done with those before. */
export function announce(text) {
  const said = document.getElementById("said");
  const line = document.createElement("p");
  line.textContent = text;
  said.append(line);
  while (said.children.length > SAID_KEPT) said.firstChild.remove();
}
