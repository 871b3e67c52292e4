/** The game is over: who won, and what next. */

import { SuitMark } from "../cards.js";
import { classes, Component, html } from "../html.js";
import { refusal, teamName, teamsInOrder } from "../say.js";
import { rematch } from "../sitting.js";
import { words } from "../words.js";

const CONFETTI = 28;

export class End extends Component {
  constructor() {
    super();
    this.state = { isBusy: false, problem: null };
  }

  async again() {
    if (this.state.isBusy) return;
    this.setState({ isBusy: true, problem: null });
    try {
      location.hash = `#/game/${await rematch(this.props.game.id)}`;
    } catch (error) {
      this.setState({ isBusy: false, problem: error.code });
    }
  }

  render({ game }, { isBusy, problem }) {
    const { view } = game;
    const [own, other] = teamsInOrder(view);
    const { winner, reason } = view.result;
    const isWon = view.viewer.team !== null && winner === view.viewer.team;
    return html`<section class=${classes("end", isWon && "won")}>
      ${isWon && html`<${Confetti} />`}
      <h2>${headline(view, isWon)}</h2>
      <p class="final">
        ${words().finalScore(view.score.teams[own], view.score.teams[other])}
        <small>${words().endReasons[reason]}</small>
      </p>
      ${view.rematch_id && html`<p class="hint">${words().rematchWaits}</p>`}
      ${problem && html`<p class="problem" role="alert">${refusal(problem)}</p>`}
      <div class="row">
        ${
          game.me !== null &&
          html`<button type="button" class="primary" aria-busy=${isBusy} onClick=${() => this.again()}>
          ${isBusy ? words().rematching : words().rematch}
        </button>`
        }
        <a class="button" href=${`#/record/${game.id}`}>${words().checkRecord}</a>
        <a class="button" href="#/">${words().back_home}</a>
      </div>
    </section>`;
  }
}

function headline(view, isWon) {
  if (view.viewer.team === null) return words().teamWon(teamName(view, view.result.winner));
  const isAlone = view.seats.length === 2;
  if (isWon) return isAlone ? words().youWonAlone : words().youWon;
  return isAlone ? words().youLostAlone : words().youLost;
}

/** Suits that rain for a moment; the style sheet lets them fall, each a little different. */
function Confetti() {
  return html`<span class="confetti" aria-hidden="true">
    ${Array.from(
      { length: CONFETTI },
      (_, place) => html`<i
      style=${{ "--place": place / CONFETTI, "--delay": (place * 37) % 100, "--turn": (place * 61) % 7 }}
    ><${SuitMark} suit=${"CHSD"[place % 4]} /></i>`,
    )}
  </span>`;
}
