/** A new game: who plays, by which rules. */

import { Component, html } from "../html.js";
import { choice, choose } from "../kept.js";
import { allBots, allVariants, usualBot } from "../offers.js";
import { botName, cardsText, refusal } from "../say.js";
import { create } from "../sitting.js";
import { words } from "../words.js";
import { Choices, NameField, Select, Title } from "./parts.js";

const CLOCKS = [null, 15, 30, 60, 120];
/** Manilhas that some play with whatever the vira, by deck, strongest first: none where the low cards are missing. */
const FIXED_MANILHAS = { french40: ["4C 7H AS 7D"], french24: [], spanish40: ["4C 7H 1S 7D", "1S 1C 7S 7D"] };
const VIRA = "vira";
const FRIEND = "friend";
const MOST_OTHERS = 5;

/** The rules that are chosen from a list, with their values by the deck; `ladder` and `target` are typed. */
const listed = (deck) => ({
  deck: Object.keys(FIXED_MANILHAS),
  manilhas: [VIRA, ...FIXED_MANILHAS[deck]],
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
});

/** A rule's value as the form has it. */
function fromRule(name, value) {
  if (name === "manilhas") return value === VIRA ? VIRA : value.join(" ");
  return name === "ladder" ? value.join(", ") : name === "target" ? String(value) : value;
}

/** And as createGame takes it. */
function toRule(name, value) {
  if (name === "manilhas") return value === VIRA ? VIRA : value.split(" ");
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
      /** Those that the service has; null until it has said so. */
      bots: null,
      /** Of seats 1 and on: a kind of bot, or FRIEND; null until somebody can choose. */
      others: null,
      isWithoutBots: false,
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
    this.lookForBots();
  }

  async lookForBots() {
    this.setState({ isWithoutBots: false });
    try {
      const bots = await allBots();
      this.setState(({ others }) => ({ bots, others: others ?? Array(MOST_OTHERS).fill(usualBot(bots) ?? FRIEND) }));
    } catch {
      this.setState({ isWithoutBots: true, isBusy: false });
    }
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

  create() {
    if (this.state.isBusy) return;
    if (!this.state.name.trim()) {
      this.setState({ isNameNeeded: true });
      document.getElementById("name").focus();
      return;
    }
    this.setState({ isBusy: true, problem: null });
    if (this.state.others !== null) this.send();
    else if (this.state.isWithoutBots) this.lookForBots();
  }

  /** A game that was wanted before anybody knew with whom. */
  componentDidUpdate(_, before) {
    if (this.state.isBusy && before.others === null && this.state.others !== null) this.send();
  }

  async send() {
    try {
      location.hash = `#/game/${await create(this.order)}`;
    } catch (problem) {
      this.setState({ isBusy: false, problem });
    }
  }

  /** A value that is the variant's own is no house rule. */
  ruled(name, value) {
    const usual = fromRule(name, this.usual[name]);
    this.setState(({ rules: { [name]: _, ...others } }) => ({
      rules: usual === value ? others : { ...others, [name]: value },
    }));
  }

  /** Fixed manilhas are cards of the deck: with another deck they are others, or the vira names them. */
  decked(deck) {
    this.ruled("deck", deck);
    const manilhas = this.rule("manilhas");
    const fixed = FIXED_MANILHAS[deck];
    if (manilhas !== VIRA && !fixed.includes(manilhas)) this.ruled("manilhas", fixed[0] ?? VIRA);
  }

  /** The variant's own rules; undefined until they are known. */
  get usual() {
    const { variants, variant } = this.state;
    return variants.find((each) => each.name === variant)?.rules;
  }

  /** A rule as the form has it. */
  rule(name) {
    const { rules } = this.state;
    return name in rules ? rules[name] : fromRule(name, this.usual[name]);
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
        ${problem && !needsKey && html`<p class="panel problem" role="alert">${refusal(problem.code)}</p>`}
        <button class="primary big" aria-busy=${isBusy}>${isBusy ? words().creating : words().create}</button>
      </form>
    </main>`;
  }

  whoPlays({ seats, bots, others, isWithoutBots }) {
    if (bots?.length === 0) return null;
    const known = bots ?? [];
    const kinds = [...known.map(({ kind }) => [kind, botName(kind)]), [FRIEND, words().aFriend]];
    const chosen = others?.slice(0, seats - 1) ?? [];
    const label = (seat) => `${words().seat(seat + 1)}: ${seat % 2 ? words().opponent : words().partner}`;
    const setAll = (other) => this.setState({ others: Array(MOST_OTHERS).fill(other) });
    return html`<fieldset>
      <legend>${words().whoPlays}</legend>
      <div class="row">
        ${bots && html`<button type="button" onClick=${() => setAll(usualBot(bots))}>${words().allBots}</button>`}
        <button type="button" onClick=${() => setAll(FRIEND)}>${words().allFriends}</button>
        ${
          isWithoutBots &&
          html`<button type="button" onClick=${() => this.lookForBots()}>${words().askAgain}</button>`
        }
      </div>
      ${
        !bots &&
        html`<p class=${isWithoutBots ? "problem" : "hint late"} role="status">
          ${isWithoutBots ? words().noBots : words().waitingForBots}
        </p>`
      }
      ${chosen.map(
        (other, place) => html`<${Select}
          label=${label(place + 1)}
          value=${other}
          options=${kinds}
          onChoose=${(picked) => this.setState({ others: others.map((each, at) => (at === place ? picked : each)) })}
        />`,
      )}
      ${known
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

  houseRules({ rules, problem }) {
    if (!this.usual) return null;
    const { ruleLimits } = words();
    const atFault = (problem?.errors ?? []).map(({ pointer }) => pointer.split("/")[2]);
    const wrong = new Map(atFault.map((name) => [name, ruleLimits[name] ?? ruleLimits.other]));
    const count = Object.keys(rules).length;
    const deck = this.rule("deck");
    const textOf = (name, value) => words().ruleValues[name][value] ?? words().fixed(cardsText(value.split(" "), deck));
    const typed = (name) => html`<p class=${wrong.has(name) ? "field wrong" : "field"}>
      <label for=${name}>${words().rules[name]}</label>
      <input
        id=${name}
        inputmode="numeric"
        value=${this.rule(name)}
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
        ${Object.entries(listed(deck)).map(
          ([name, values]) => html`<${Select}
            label=${words().rules[name]}
            value=${this.rule(name)}
            options=${values.map((each) => [each, textOf(name, each)])}
            error=${wrong.get(name)}
            onChoose=${(picked) => (name === "deck" ? this.decked(picked) : this.ruled(name, picked))}
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
        bots?.length > 0 &&
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
