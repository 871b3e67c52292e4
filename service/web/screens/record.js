/** A finished game laid open, and the check of its shuffle. */

import { getPatiently } from "../api.js";
import { Card } from "../cards.js";
import { classes, Component, html } from "../html.js";
import { keptGame } from "../kept.js";
import { nameOf, refusal } from "../say.js";
import { canCheck, check } from "../shuffle.js";
import { words } from "../words.js";
import { Title } from "./parts.js";

export class Record extends Component {
  constructor() {
    super();
    this.state = { record: null, view: null, checked: null, problem: null };
  }

  async componentDidMount() {
    const { id } = this.props;
    const kept = keptGame(id);
    try {
      const token = kept?.token ?? kept?.hostToken;
      const [record, view] = await Promise.all([
        getPatiently(`games/${id}/record`, token),
        getPatiently(`games/${id}`, token), // who is a bot, and who looks
      ]);
      this.setState({ record, view });
      if (canCheck) this.setState({ checked: await check(record, kept?.commitment ?? null) });
    } catch (error) {
      this.setState({ problem: error.code ?? "other" });
    }
  }

  render({ id }, { record, view, checked, problem }) {
    return html`<main class="form-screen record-screen" aria-busy=${!record && !problem}>
      <${Title}>${words().record}<//>
      ${problem && html`<p class="panel problem" role="alert">${refusal(problem)}</p>`}
      ${record && html`<${Checks} record=${record} checked=${checked} id=${id} />`}
      ${record?.hands.map((hand) => html`<${HandRecord} record=${record} view=${view} hand=${hand} />`)}
    </main>`;
  }
}

function Checks({ record, checked, id }) {
  return html`<section class="panel">
    <p>${words().recordIntro}</p>
    ${!canCheck && html`<p class="problem">${words().needsHttps}</p>`}
    ${canCheck && !checked && html`<p role="status">${words().checking}</p>`}
    ${checked && html`<${Results} record=${record} checked=${checked} />`}
    <details>
      <summary>${words().seed}</summary>
      <code class="hash">${record.seed}</code>
      <p class="hint">${words().commitment}</p>
      <code class="hash">${record.commitment}</code>
    </details>
    <button type="button" onClick=${() => download(record, `truco-${id}.json`)}>${words().download}</button>
  </section>`;
}

function Results({ record, checked }) {
  const { commitment, isSeen, dealer, wrongHands } = checked;
  const { checks, right, wrong, allRight, notRight } = words();
  const isRight = commitment && dealer !== false && wrongHands.length === 0;
  const lines = [
    [commitment, checks.commitment, isSeen ? checks.commitmentSeen : checks.commitmentTold],
    dealer === null ? [true, checks.dealerRematch] : [dealer, checks.dealer],
    [
      wrongHands.length === 0,
      checks.hands(record.hands.length),
      wrongHands.length > 0 && checks.handsDiffer(wrongHands.join(", ")),
    ],
  ];
  return html`<div class=${classes("checks", isRight ? "right" : "wrong")} role="status">
    <p class="lead">${isRight ? allRight : notRight}</p>
    <ul>
      ${lines.map(
        ([isFine, text, more]) => html`<li class=${isFine ? "right" : "wrong"}>
          <span class="for-ears">${isFine ? right : wrong}: </span>${text}${more && html`<small>${more}</small>`}
        </li>`,
      )}
    </ul>
  </div>`;
}

function HandRecord({ record, view, hand }) {
  const { winner, points } = hand;
  const { deck } = record.rules;
  const names = record.seats.map(({ seat }) => nameOf(view, seat));
  const team =
    winner === null
      ? words().verdicts.tied
      : record.seats
          .filter((seat) => seat.team === winner)
          .map(({ seat }) => names[seat])
          .join(", ");
  return html`<details class="panel hand-record">
    <summary>
      ${words().hand(hand.number)}
      ${hand.vira && html`<${Card} card=${hand.vira} deck=${deck} small />`}
      <span class="what">${team} ${points > 0 ? `+${points}` : ""}</span>
    </summary>
    <ul class="dealt">
      ${hand.hands.map(
        (cards, seat) => html`<li>
        <span>${names[seat]}</span>
        <span class="cards">${cards.map((card) => html`<${Card} card=${card} deck=${deck} small />`)}</span>
      </li>`,
      )}
    </ul>
    ${hand.tricks.map(
      (trick, place) => html`<p class="trick">
      <span>${words().trick(place + 1)}</span>
      <span class="cards">
        ${trick.plays.map(
          ({ seat, card }) => html`<span class=${classes("by", seat === trick.winner && "wins")}>
          <${Card} card=${card} deck=${deck} small /><small>${names[seat]}</small>
        </span>`,
        )}
      </span>
    </p>`,
    )}
  </details>`;
}

function download(record, name) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(record, null, 2)], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}
