/** A new game: who plays, by which rules. */

import { Component, html } from "../html.js";
import { choice, choose } from "../kept.js";
import { allBots, allVariants, usualBot } from "../offers.js";
import { botName, refusal } from "../say.js";
import { create } from "../sitting.js";
import { words } from "../words.js";
import { Choices, NameField, Select, Title } from "./parts.js";

const CLOCKS = [null, 15, 30, 60, 120];
const FIXED_MANILHAS = ["4C", "7H", "AS", "7D"];
const FRIEND = "friend";
const MOST_OTHERS = 5;

/** The rules that are chosen from a list, with their values; `ladder` and `target` are typed. */
const LISTED = {
  deck: ["french40", "french24", "spanish40"],
  manilhas: ["vira", "fixed"],
  legs: [1, 2],
  raise_timing: ["own_turn", "any_time"],
  all_tied: ["nobody", "dealer_team", "leader_team"],
  tie_leader: ["opener", "first_tied", "last_tied", "hand_leader"],
  covered_from_trick: [2, 3, null],
  eleven_decision: [true, false],
  eleven_partner_cards: [true, false],
  eleven_raise: ["forbidden", "lose_points", "lose_game"],
  eleven_all_tied: ["all_tied", "opponents"],
  eleven_show: [true, false],
  iron_cards: ["open", "blind", "blind_hidden_vira"],
  iron_raise: ["forbidden", "lose_points", "lose_game"],
  dealing: ["automatic", "cut"],
};

/** A rule's value as the form has it. */
function fromRule(name, value) {
  if (name === "manilhas") return value === "vira" ? "vira" : "fixed";
  return name === "ladder" ? value.join(", ") : name === "target" ? String(value) : value;
}

/** And as createGame takes it. */
function toRule(name, value) {
  if (name === "manilhas") return value === "vira" ? "vira" : FIXED_MANILHAS;
  if (name === "ladder")
    return value
      .split(/[^0-9]+/)
      .filter(Boolean)
      .map(Number);
  return name === "target" ? Number(value) : value;
}

export class NewGame extends Component {
  constructor() {
    super();
    this.state = {
      name: choice("name", ""),
      seats: 4,
      variant: "paulista",
      variants: [],
      bots: [],
      /** Of seats 1 and on: a kind of bot, or FRIEND. */
      others: [],
      rules: {},
      clock: null,
      onTimeout: "play",
      visibility: "private",
      apiKey: choice("apiKey", ""),
      isBusy: false,
      isNameNeeded: false,
      problem: null,
    };
  }

  componentDidMount() {
    allVariants().then((variants) => this.setState({ variants }));
    allBots().then(
      (bots) => this.setState({ bots, others: Array(MOST_OTHERS).fill(usualBot(bots) ?? FRIEND) }),
      () => {},
    );
  }

  get order() {
    const { name, seats, variant, others, rules, clock, onTimeout, visibility } = this.state;
    const seated = others.slice(0, seats - 1).map((other) => (other === FRIEND ? null : { bot: other }));
    return {
      variant,
      seats,
      players: [{ name: name.trim() }, ...seated],
      rules: Object.fromEntries(Object.entries(rules).map(([rule, value]) => [rule, toRule(rule, value)])),
      visibility,
      turn_seconds: clock,
      on_timeout: onTimeout,
    };
  }

  async create() {
    if (this.state.isBusy) return;
    if (!this.state.name.trim()) {
      this.setState({ isNameNeeded: true });
      document.getElementById("name").focus();
      return;
    }
    this.setState({ isBusy: true, problem: null });
    try {
      location.hash = `#/game/${await create(this.order)}`;
    } catch (problem) {
      this.setState({ isBusy: false, problem });
    }
  }

  /** A value that is the variant's own is no house rule. */
  ruled(name, value) {
    const { rules, variants, variant } = this.state;
    const usual = variants.find((each) => each.name === variant)?.rules[name];
    const { [name]: _, ...others } = rules;
    this.setState({
      rules: usual !== undefined && fromRule(name, usual) === value ? others : { ...others, [name]: value },
    });
  }

  named(name) {
    choose("name", name);
    this.setState({ name, isNameNeeded: false });
  }

  render(_, state) {
    const { name, seats, isBusy, isNameNeeded, problem } = state;
    const needsKey = problem?.status === 401;
    return html`<main class="form-screen">
      <${Title}>${words().newGame}<//>
      <form
        onSubmit=${(event) => {
          event.preventDefault();
          this.create();
        }}
      >
        <section class="panel">
          <${NameField} value=${name} onName=${(typed) => this.named(typed)} isNeeded=${isNameNeeded} />
          <${Choices}
            legend=${words().howMany}
            name="seats"
            value=${seats}
            options=${[2, 4, 6].map((count) => [count, words().seatCounts[count]])}
            onChoose=${(count) => this.setState({ seats: count })}
          />
          ${this.whoPlays(state)}
          ${this.variant(state)}
        </section>
        ${this.houseRules(state)} ${this.clockAndTable(state)}
        ${
          needsKey &&
          html`<p class="panel field wrong">
          <label for="api-key">${words().apiKey}</label>
          <input
            id="api-key"
            value=${state.apiKey}
            autocomplete="off"
            onInput=${({ currentTarget: { value } }) => {
              choose("apiKey", value.trim());
              this.setState({ apiKey: value });
            }}
          />
          <span class="hint" role="alert">${words().apiKeyNeeded}</span>
        </p>`
        }
        ${problem && !needsKey && html`<p class="problem" role="alert">${refusal(problem.code)}</p>`}
        <button class="primary big" aria-busy=${isBusy}>${isBusy ? words().creating : words().create}</button>
      </form>
    </main>`;
  }

  whoPlays({ seats, bots, others }) {
    if (bots.length === 0) return null;
    const kinds = [...bots.map(({ kind }) => [kind, botName(kind)]), [FRIEND, words().aFriend]];
    const chosen = others.slice(0, seats - 1);
    const label = (seat) => `${words().seat(seat + 1)}: ${seat % 2 ? words().opponent : words().partner}`;
    const setAll = (other) => this.setState({ others: Array(MOST_OTHERS).fill(other) });
    return html`<fieldset>
      <legend>${words().whoPlays}</legend>
      <div class="row">
        <button type="button" onClick=${() => setAll(usualBot(bots))}>${words().allBots}</button>
        <button type="button" onClick=${() => setAll(FRIEND)}>${words().allFriends}</button>
      </div>
      ${chosen.map(
        (other, place) => html`<${Select}
          label=${label(place + 1)}
          value=${other}
          options=${kinds}
          onChoose=${(picked) => this.setState({ others: others.map((each, at) => (at === place ? picked : each)) })}
        />`,
      )}
      ${bots
        .filter(({ kind }) => chosen.includes(kind))
        .map(
          ({ kind, description }) =>
            html`<p class="hint"><strong>${botName(kind)}</strong>: ${words().botSentences[kind] ?? description}</p>`,
        )}
    </fieldset>`;
  }

  variant({ variants, variant }) {
    const chosen = variants.find((each) => each.name === variant);
    return html`<${Select}
      label=${words().variant}
      value=${variant}
      options=${variants.map(({ name, title }) => [name, title])}
      hint=${words().variants[variant] ?? chosen?.description}
      onChoose=${(name) => this.setState({ variant: name, rules: {} })}
    />`;
  }

  houseRules({ variants, variant, rules, problem }) {
    const usual = variants.find((each) => each.name === variant)?.rules;
    if (!usual) return null;
    const wrong = new Map((problem?.errors ?? []).map(({ pointer, detail }) => [pointer.split("/")[2], detail]));
    const count = Object.keys(rules).length;
    const value = (name) => (name in rules ? rules[name] : fromRule(name, usual[name]));
    const typed = (name) => html`<p class=${wrong.has(name) ? "field wrong" : "field"}>
      <label for=${name}>${words().rules[name]}</label>
      <input
        id=${name}
        inputmode="numeric"
        value=${value(name)}
        aria-invalid=${wrong.has(name) ? "true" : undefined}
        aria-describedby=${wrong.has(name) ? `${name}-hint` : undefined}
        onInput=${(event) => this.ruled(name, event.currentTarget.value)}
      />
      ${wrong.has(name) && html`<span class="hint" id=${`${name}-hint`}>${wrong.get(name)}</span>`}
    </p>`;
    return html`<details class="panel" open=${wrong.size > 0 || undefined}>
      <summary>
        ${words().houseRules} ${count > 0 && html`<span class="count">${words().houseRulesChanged(count)}</span>`}
      </summary>
      <div class="rules">
        ${typed("target")} ${typed("ladder")}
        ${Object.entries(LISTED).map(
          ([name, values]) => html`<${Select}
            label=${words().rules[name]}
            value=${value(name)}
            options=${values.map((each) => [each, words().ruleValues[name][each]])}
            error=${wrong.get(name)}
            onChoose=${(picked) => this.ruled(name, picked)}
          />`,
        )}
      </div>
    </details>`;
  }

  clockAndTable({ clock, bots, onTimeout, visibility }) {
    return html`<details class="panel">
      <summary>${words().more}</summary>
      <${Select}
        label=${words().clock}
        value=${clock}
        options=${CLOCKS.map((seconds) => [seconds, seconds === null ? words().noClock : words().seconds(seconds)])}
        onChoose=${(seconds) => this.setState({ clock: seconds })}
      />
      ${
        clock !== null &&
        bots.length > 0 &&
        html`<${Select}
        label=${words().onTimeout}
        value=${onTimeout}
        options=${["play", "bot"].map((each) => [each, words().onTimeouts[each]])}
        onChoose=${(picked) => this.setState({ onTimeout: picked })}
      />`
      }
      <${Choices}
        legend=${words().visibility}
        name="visibility"
        value=${visibility}
        options=${["private", "public"].map((each) => [each, words().visibilities[each]])}
        onChoose=${(picked) => this.setState({ visibility: picked })}
      />
    </details>`;
  }
}
