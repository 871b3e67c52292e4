/** The table: seats around the felt, what lies on it, one's own hand, and what can be pressed. */

import { Card, nameOfCard, SuitMark } from "../cards.js";
import { classes, Component, html } from "../html.js";
import {
  botName,
  callOf,
  cardName,
  nameOf,
  rankName,
  rankOf,
  refusal,
  scoreText,
  suitOf,
  teamName,
  teamsInOrder,
  whatNow,
  whoMayRaise,
} from "../say.js";
import { words } from "../words.js";
import { Actions } from "./actions.js";
import { Avatar } from "./avatar.js";
import { Clock } from "./clock.js";
import { End } from "./end.js";
import { Menu, Story } from "./menu.js";

/** Where the seats are, counted from the one at the bottom in the order of play. */
const PLACES = {
  2: ["near", "far"],
  4: ["near", "left", "far", "right"],
  6: ["near", "left-low", "left-high", "far", "right-high", "right-low"],
};

function placeOf(view, seat) {
  const count = view.seats.length;
  return PLACES[count][(seat - (view.viewer.seat ?? 0) + count) % count];
}

/** The viewer's own team; for spectators, who sit behind seat 0, that of seat 0. */
function isOwn(view, team) {
  return team === teamsInOrder(view)[0];
}

export class Table extends Component {
  constructor() {
    super();
    this.state = { hasMenu: false };
  }

  /** What is pressed goes, or cannot be pressed again; the focus stays with the hand then. */
  componentDidUpdate() {
    const { pressed } = this;
    if (pressed && (!pressed.isConnected || pressed.disabled)) document.getElementById("hand")?.focus();
  }

  render({ game, redraw }, { hasMenu }) {
    const { view } = game;
    this.pressed = document.activeElement?.closest("#hand button, .actions button");
    const isOver = view.status === "finished" && game.isAtRest;
    const isUndealt = view.hand?.phase === "cut" || view.hand?.phase === "deal";
    return html`<div class="table-screen">
      <${Bar} game=${game} onMenu=${() => this.setState({ hasMenu: true })} />
      <main class="board" data-version=${view.version} aria-label=${words().theTable}>
        <${Stakes} view=${view} />
        <${Felt} game=${game} />
        <${Notices} game=${game} />
        <${Now} game=${game} />
        ${isOver ? html`<${End} game=${game} />` : html`<${Actions} game=${game} redraw=${redraw} />`}
        ${game.me !== null && !isOver && !isUndealt && html`<${Hand} game=${game} />`}
      </main>
      <aside class="beside"><${Story} game=${game} /></aside>
      ${hasMenu && html`<${Menu} game=${game} redraw=${redraw} onClose=${() => this.setState({ hasMenu: false })} />`}
    </div>`;
  }
}

// ---- the score ----

function Bar({ game, onMenu }) {
  const { view } = game;
  return html`<header class="bar">
    <button type="button" class="plain menu-button" aria-label=${words().menu} onClick=${onMenu}>☰</button>
    <h1 class="for-ears">Truco</h1>
    <div class="score" role="img" aria-label=${scoreText(view)}>
      ${teamsInOrder(view).map((team) => html`<${Points} view=${view} team=${team} />`)}
    </div>
    <span
      class=${classes("link", !game.isConnected && "lost")}
      role="img"
      aria-label=${game.isConnected ? words().isConnected : words().disconnected}
    ></span>
  </header>`;
}

/** Points as beans on the table, as many as are needed to win. */
function Points({ view, team }) {
  const { teams, target } = view.score;
  const points = teams[team];
  return html`<div class=${classes("points", isOwn(view, team) ? "own" : "other")}>
    <span class="team">${teamName(view, team)}</span>
    <strong key=${points}>${points}</strong>
    <span class="beans">
      ${Array.from({ length: Math.min(target, 24) }, (_, place) => html`<i class=${place < points ? "won" : ""}></i>`)}
    </span>
  </div>`;
}

// ---- what the hand is worth, and how its tricks went ----

function Stakes({ view }) {
  const { hand, rules } = view;
  if (!hand) return html`<div class="stakes"></div>`;
  const asked = hand.raise?.to;
  const kind = words().kinds[hand.kind];
  return html`<div class="stakes">
    <div class="ladder">
      <span class="for-ears">
        ${kind} ${words().worthLong(hand.value)} ${asked && words().asked(callOf(asked, rules.ladder))}
      </span>
      <span class="steps" aria-hidden="true">
        ${rules.ladder.map(
          (value) => html`<b class=${value === hand.value ? "worth" : value === asked ? "asked" : ""}>${value}</b>`,
        )}
      </span>
      <small>${kind && html`<em>${kind}</em>`} ${hand.phase !== "over" && whoMayRaise(view)}</small>
    </div>
    <div>
      ${rules.legs > 1 && html`<small class="leg">${words().leg(view.score.leg)}</small>`}
      <ol class="tricks">
        ${[0, 1, 2].map(
          (place) => html`<${TrickResult} view=${view} trick=${hand.tricks[place]} number=${place + 1} />`,
        )}
      </ol>
    </div>
  </div>`;
}

function TrickResult({ view, trick, number }) {
  const { result, text } = resultOf(view, trick);
  return html`<li class=${result} title=${`${words().trick(number)}: ${text}`}>
    <span class="for-ears">${words().trick(number)}: ${text}</span>
  </li>`;
}

function resultOf(view, trick) {
  if (!trick) return { result: "to-come", text: words().trickToCome };
  if (trick.tied) return { result: "tied", text: words().trickTied };
  if (trick.winner === null) return { result: "running", text: words().trickRunning };
  const { team } = view.seats[trick.winner];
  const named = isOwn(view, team) ? words().trickOurs : words().trickTheirs;
  return {
    result: isOwn(view, team) ? "own" : "other",
    text: view.viewer.team === null ? words().trickOf(teamName(view, team)) : named,
  };
}

// ---- the felt ----

function Felt({ game }) {
  const { view } = game;
  const trick = view.hand?.tricks.at(-1);
  return html`<div class=${`felt seats-${view.seats.length}`}>
    <${Middle} view=${view} />
    ${view.seats.map(({ seat }) => html`<${Place} key=${`seat-${seat}`} game=${game} seat=${seat} />`)}
    <ol class="played">
      ${(trick?.plays ?? []).map(
        (play) =>
          html`<${Played}
            key=${`${view.hand.number}-${view.hand.tricks.length}-${play.seat}`}
            view=${view}
            trick=${trick}
            play=${play}
          />`,
      )}
    </ol>
    ${game.verdict && !game.isAtRest && html`<${Verdict} view=${view} verdict=${game.verdict} />`}
    ${
      !game.isAtRest &&
      html`<button type="button" class="plain skip" onClick=${() => game.catchUp()}>${words().skip} »</button>`
    }
  </div>`;
}

function Played({ view, trick, play }) {
  const isDone = trick.winner !== null || trick.tied;
  const look = classes(isDone && (play.seat === trick.winner ? "wins" : !trick.tied && "loses"));
  return html`<li class=${`from-${placeOf(view, play.seat)}`}>
    <${Card}
      card=${play.card}
      deck=${view.rules.deck}
      covered=${play.covered}
      manilhas=${view.hand.manilhas}
      small
      look=${look}
      label=${`${nameOf(view, play.seat)}: ${nameOfCard(play.card, view.rules.deck, play.covered, view.hand.manilhas)}`}
    />
  </li>`;
}

/** The vira on the pack, and what it makes manilha. */
function Middle({ view }) {
  const { hand, rules } = view;
  if (!hand) return null;
  if (rules.manilhas !== "vira") {
    return html`<div class="middle fixed">
      ${rules.manilhas.map(
        (card) =>
          html`<${Card} card=${card} deck=${rules.deck} small label=${cardName(card, rules.deck, rules.manilhas)} />`,
      )}
      <small>${words().fixedManilhas}</small>
    </div>`;
  }
  const isDealt = hand.phase !== "cut" && hand.phase !== "deal";
  const manilha = hand.manilhas && rankOf(hand.manilhas[0]);
  const label = hand.vira ? words().viraLong(cardName(hand.vira, rules.deck), rankName(manilha)) : words().viraHidden;
  return html`<div class="middle">
    <span class="pack" aria-hidden="true"><i class="card back"></i><i class="card back"></i></span>
    ${
      isDealt &&
      html`<span class="vira" key=${`${hand.number}-${hand.vira}`}>
        <${Card} card=${hand.vira} deck=${rules.deck} small label=${label} />
      </span>`
    }
    ${
      manilha &&
      html`<small aria-hidden="true">
      ${words().manilha} <strong>${manilha}</strong>
      ${hand.manilhas.map((card) => html`<${SuitMark} suit=${suitOf(card)} deck=${rules.deck} />`)}
    </small>`
    }
  </div>`;
}

function Verdict({ view, verdict }) {
  const whose = verdict.team !== null && (isOwn(view, verdict.team) ? "own" : "other");
  return html`<div class=${classes("verdict", whose)} aria-hidden="true">
    <strong>${verdict.text}</strong>
    <span>${verdict.team === null ? "" : teamName(view, verdict.team)}</span>
    <small>${verdict.reason}</small>
  </div>`;
}

// ---- a seat ----

function Place({ game, seat }) {
  const { view } = game;
  const { hand } = view;
  const { cards, cards_left: left, team } = view.seats[seat];
  const isNear = placeOf(view, seat) === "near";
  const waits = view.turn?.seats.includes(seat);
  const shouted = game.shouts.get(seat);
  const leader = hand && (hand.dealer + 1) % view.seats.length;
  return html`<section
    class=${classes("place", `at-${placeOf(view, seat)}`, waits && "waits", isOwn(view, team) ? "own" : "other")}
    aria-label=${nameOf(view, seat)}
  >
    <${Avatar} view=${view} seat=${seat}>
      ${
        waits &&
        view.turn.deadline &&
        html`<${Clock} key=${view.turn.deadline} view=${view} isMine=${seat === game.me} />`
      }
    <//>
    <span class="plate">
      <strong>${nameOf(view, seat)}</strong>
      <small class="subtitle">${aboutSeat(view, seat).join(" · ")}</small>
      <span class="badges">
        ${hand?.dealer === seat && html`<abbr class="badge" title=${words().dealerLong}>${words().dealer}</abbr>`}
        ${leader === seat && html`<abbr class="badge leader" title=${words().leaderLong}>${words().leader}</abbr>`}
      </span>
    </span>
    ${!isNear && html`<${Held} cards=${cards} left=${left} view=${view} />`}
    ${isNear && game.me === null && html`<${Held} cards=${cards} left=${left} view=${view} />`}
    ${
      shouted && html`<span class=${classes("shout", shouted.loud && "loud")} aria-hidden="true">${shouted.text}</span>`
    }
  </section>`;
}

/** What is to be known of who sits there. */
function aboutSeat(view, seat) {
  const { kind, name, presence, team, stand_in: standIn } = view.seats[seat];
  const isMe = seat === view.viewer.seat;
  return [
    !isMe && team === view.viewer.team && words().partner,
    kind === "bot" && botName(name),
    standIn && words().standIn,
    !isMe && kind === "human" && presence === "away" && words().away,
  ].filter(Boolean);
}

/** What another seat holds: backs, or in the decision of a mão de onze a partner's cards. */
function Held({ cards, left, view }) {
  if (left === 0) return null;
  if (!cards || cards.every(({ card }) => card === null)) {
    return html`<span class="held" role="img" aria-label=${words().cardsLeft(left)}>
      ${Array.from({ length: left }, () => html`<i class="card back"></i>`)}
    </span>`;
  }
  return html`<span class="held seen">
    ${cards.map(
      ({ card, slot }) =>
        html`<${Card} key=${slot} card=${card} deck=${view.rules.deck} small manilhas=${view.hand?.manilhas} />`,
    )}
  </span>`;
}

// ---- one's own hand ----

function Hand({ game }) {
  const { view } = game;
  const cards = view.seats[game.me].cards ?? [];
  return html`<section id="hand" class="hand" tabindex="-1" aria-label=${words().yourHand}>
    ${cards.map((held) => html`<${HandCard} key=${`${view.hand?.number}-${held.slot}`} game=${game} held=${held} />`)}
  </section>`;
}

/** A card that can be pressed as far as it is among the legal actions. */
function HandCard({ game, held }) {
  const { card, slot } = held;
  const { deck } = game.view.rules;
  const { manilhas } = game.view.hand;
  const plays = game.legal("play").filter((action) => (card === null ? action.slot === slot : action.card === card));
  const action = plays.find(({ covered }) => Boolean(covered) === game.covers) ?? null;
  const isSent =
    game.sending?.type === "play" && (card === null ? game.sending.slot === slot : game.sending.card === card);
  const name = card === null ? words().blindCard(slot + 1) : cardName(card, deck, manilhas);
  const label = action ? (action.covered ? words().playCovered(name) : words().playCard(name)) : name;
  return html`<button
    type="button"
    class=${classes("hand-card", `slot-${slot}`, isSent && "sent", action?.covered && "to-cover")}
    aria-label=${label}
    disabled=${action === null}
    onClick=${() => game.act(action)}
  >
    <${Card} card=${card} deck=${deck} manilhas=${manilhas} label="" />
  </button>`;
}

// ---- what else is to be known ----

/** What the game waits for; while events are shown, what happens, which the log says to those who listen. */
function Now({ game }) {
  const isMine = game.isMyTurn && game.isAtRest;
  return html`<div class=${classes("now", isMine && "mine")}>
    <p role="status">${game.isAtRest ? whatNow(game) : ""}</p>
    ${!game.isAtRest && html`<p aria-hidden="true">${game.story[0]}</p>`}
  </div>`;
}

function Notices({ game }) {
  const { view } = game;
  const standsIn = game.me !== null && view.seats[game.me].stand_in;
  return html`<div class="notices">
    ${!game.isConnected && html`<p class="notice lost">${words().disconnected}</p>`}
    ${game.refused && html`<p class="notice" role="alert">${refusal(game.refused)}</p>`}
    ${game.me === null && html`<p class="notice">${words().watching}</p>`}
    ${
      standsIn &&
      html`<p class="notice">
      ${words().aBotPlaysForYou} <button type="button" onClick=${() => game.comeBack()}>${words().comeBack}</button>
    </p>`
    }
  </div>`;
}
