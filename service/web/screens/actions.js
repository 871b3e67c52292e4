/** What can be pressed beside the cards: only what is among the legal actions. */

import { classes, Component, html } from "../html.js";
import { callOf, nameOf } from "../say.js";
import { words } from "../words.js";
import { Confirm, Select } from "./parts.js";

export class Actions extends Component {
  constructor() {
    super();
    /** A raise that costs something and waits for a yes; where the pack is cut. */
    this.state = { asks: null, at: 20, takeFor: null };
  }

  /** A raise with a penalty is asked about first. */
  press(action) {
    if (action.penalty) this.setState({ asks: action });
    else this.props.game.act(action);
  }

  render({ game, redraw }, { asks }) {
    const { hand } = game.view;
    const phase = hand?.phase;
    return html`<div class=${classes("actions", game.legal().some(({ type }) => type !== "play") && "some")}>
      ${phase === "cut" && this.cut()} ${phase === "deal" && this.deal()}
      ${["accept", "raise", "fold", "show"].map((type) => game.legal(type).map((action) => this.button(action)))}
      ${
        game.legal("play").some(({ covered }) => covered) &&
        html`<button
        type="button"
        class=${classes("cover", game.covers && "on")}
        aria-pressed=${game.covers}
        title=${words().coverHint}
        onClick=${() => {
          game.covers = !game.covers;
          redraw();
        }}
      ><span>${words().cover}</span></button>`
      }
      ${asks && game.legal().includes(asks) && this.warning(asks)}
    </div>`;
  }

  button(action) {
    const { call, value } = this.label(action);
    return html`<button type="button" class=${`call ${action.type}`} onClick=${() => this.press(action)}>
      <span>${call}</span> <small>${value}</small>
    </button>`;
  }

  label({ type, to, penalty }) {
    const { hand, rules } = this.props.game.view;
    if (type === "show") return words().show;
    if (type === "raise") {
      const next = to ?? rules.ladder[rules.ladder.indexOf(hand.value) + 1];
      const call = callOf(next, rules.ladder);
      return {
        call: `${call}!`,
        value: penalty ? words().raiseCosts[penalty](rules.ladder[1]) : words().raiseTo(next),
      };
    }
    if (hand.phase === "eleven") {
      return type === "accept" ? words().playEleven(hand.value) : words().foldEleven(rules.ladder[0]);
    }
    return type === "accept" ? words().accept(hand.raise.to) : words().fold(hand.value);
  }

  warning(action) {
    const { rules } = this.props.game.view;
    return html`<${Confirm}
      title=${words().penaltyTitle}
      question=${words().penaltyQuestion[action.penalty](rules.ladder[1])}
      yes=${words().penaltyYes[action.penalty]}
      onNo=${() => this.setState({ asks: null })}
      onYes=${() => {
        this.setState({ asks: null });
        this.props.game.act(action);
      }}
    />`;
  }

  cut() {
    const { game } = this.props;
    const cuts = game.legal("cut");
    if (cuts.length === 0) return null;
    const { takeFor } = this.state;
    const depths = cuts.filter(({ at }) => at !== undefined).map(({ at }) => at);
    const at = Math.min(Math.max(this.state.at, Math.min(...depths)), Math.max(...depths));
    const takers = [...new Set(cuts.map((action) => action.take_for ?? null))];
    const way = (cut) => cuts.find((action) => action.cut === cut && (action.take_for ?? null) === takeFor);
    return html`<div class="cut">
      <p class="field">
        <label for="depth">${words().cutLabel}: ${words().cutDepth(at)}</label>
        <input
          id="depth"
          type="range"
          min=${Math.min(...depths)}
          max=${Math.max(...depths)}
          value=${at}
          onInput=${(event) => this.setState({ at: Number(event.currentTarget.value) })}
        />
      </p>
      <button type="button" class="call raise" onClick=${() => game.act(cuts.find((action) => action.at === at))}>
        ${words().cutHere}
      </button>
      <${Select}
        label=${words().takeFor}
        value=${takeFor}
        options=${takers.map((seat) => [seat, seat === null ? words().nobody : nameOf(game.view, seat)])}
        onChoose=${(seat) => this.setState({ takeFor: seat })}
      />
      <div class="row">
        <button type="button" onClick=${() => game.act(way("dry"))}>${words().cutDry}</button>
        <button type="button" onClick=${() => game.act(way("none"))}>${words().cutNone}</button>
      </div>
    </div>`;
  }

  deal() {
    const { game } = this.props;
    return html`<div class="deal">
      ${game.legal("deal").map(
        (action) => html`<button type="button" onClick=${() => game.act(action)}>
          ${words().dealWays[`${action.deal_from} ${action.deal_style}`]}
        </button>`,
      )}
    </div>`;
  }
}
