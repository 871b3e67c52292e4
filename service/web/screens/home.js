/** The first screen: play at once, or choose. */

import { Card } from "../cards.js";
import { Component, html } from "../html.js";
import { choice, choose, forgetGame, keptGames } from "../kept.js";
import { allBots, publicGames, usualBot } from "../offers.js";
import { botName, refusal, variantName } from "../say.js";
import { create } from "../sitting.js";
import { words } from "../words.js";
import { Languages, NameField, Paces } from "./parts.js";

const QUICK = { 4: "paulista", 2: "mano-a-mano" };
const FAN = ["4C", "7H", "AS"];

export class Home extends Component {
  constructor() {
    super();
    this.state = { name: choice("name", ""), bots: null, tables: null, busy: null, problem: null };
  }

  componentDidMount() {
    allBots().then(
      (bots) => this.setState({ bots }),
      () => {},
    );
    this.refresh();
  }

  async refresh() {
    try {
      const [playing, lobbies] = await Promise.all([publicGames("playing"), publicGames("lobby")]);
      this.setState({ tables: [...lobbies, ...playing] });
    } catch {
      this.setState({ tables: [] });
    }
  }

  /** Against bots, with nothing to choose. */
  async play(seats) {
    if (this.state.busy) return;
    this.setState({ busy: seats, problem: null });
    const me = { name: this.state.name.trim() || words().you };
    try {
      const bot = usualBot(await allBots());
      const others = Array.from({ length: seats - 1 }, () => (bot ? { bot } : null));
      const id = await create({ variant: QUICK[seats], seats, players: [me, ...others] });
      location.hash = `#/game/${id}`;
    } catch (error) {
      // what it needs, an API key for one, is asked for there
      if (error.status === 401) location.hash = "#/new";
      this.setState({ busy: null, problem: error.code });
    }
  }

  named(name) {
    choose("name", name);
    this.setState({ name });
  }

  render({ redraw }, { name, bots, tables, busy, problem }) {
    const hasBots = bots?.length !== 0; // until it is known otherwise
    return html`<main class="home-screen">
      <div class="corner-tools"><${Languages} /></div>
      <div class="hero">
        <div class="fan" aria-hidden="true">${FAN.map((card) => html`<${Card} card=${card} label="" />`)}</div>
        <h1>Truco</h1>
        <p class="tagline">${words().tagline}</p>
      </div>
      <section class="panel start">
        <${NameField} value=${name} onName=${(typed) => this.named(typed)} />
        ${
          hasBots &&
          Object.keys(QUICK)
            .reverse()
            .map(
              (seats) => html`<button
            type="button"
            class=${seats === "4" ? "primary big" : "big"}
            aria-busy=${busy === Number(seats)}
            onClick=${() => this.play(Number(seats))}
          >
            <strong>${words().playNow}</strong> <span>${words().quick[seats]}</span>
          </button>`,
            )
        }
        <a class=${hasBots ? "button" : "button primary big"} href="#/new">
          ${hasBots ? words().otherGame : words().withFriends}
        </a>
        ${problem && html`<p class="problem" role="alert">${refusal(problem)}</p>`}
      </section>
      <${OwnGames} redraw=${redraw} />
      <${Tables} tables=${tables} onRefresh=${() => this.refresh()} />
      <section class="panel">
        <h2>${words().settings}</h2>
        <${Paces} redraw=${redraw} />
      </section>
    </main>`;
  }
}

function when(at) {
  return new Date(at).toLocaleString(words().tag, { dateStyle: "short", timeStyle: "short" });
}

function OwnGames({ redraw }) {
  const games = keptGames().filter(([, game]) => game.token || game.hostToken || game.finished);
  if (games.length === 0) return null;
  return html`<section class="panel">
    <h2>${words().yourGames}</h2>
    <ul class="games">
      ${games.slice(0, 6).map(
        ([id, game]) => html`<li key=${id}>
          <span class="what">${variantName(game.variant)} · ${when(game.at)}</span>
          <a class="button" href=${game.finished ? `#/record/${id}` : `#/game/${id}`}>
            ${game.finished ? words().seeRecord : words().goOn}
          </a>
          <button
            type="button"
            class="plain"
            aria-label=${`${words().forget}: ${variantName(game.variant)}`}
            onClick=${() => {
              forgetGame(id);
              redraw();
            }}
          >✕</button>
        </li>`,
      )}
    </ul>
  </section>`;
}

function Tables({ tables, onRefresh }) {
  return html`<section class="panel">
    <h2>${words().publicGames} <button type="button" class="plain" onClick=${onRefresh}>${words().refresh}</button></h2>
    ${tables?.length === 0 && html`<p class="hint">${words().noPublicGames}</p>`}
    <ul class="games">
      ${tables?.map(({ id, variant, seats, status }) => {
        const taken = seats.filter((seat) => seat.name);
        const names = taken.map(({ name, kind }) => (kind === "bot" ? botName(name) : name)).join(", ");
        const isOpen = status === "lobby" && seats.some((seat) => seat.kind === "open");
        return html`<li key=${id}>
          <span class="what">${variantName(variant)} · ${names || "—"} · ${taken.length}/${seats.length}</span>
          <a class="button" href=${`#/game/${id}`}>${isOpen ? words().sitDown : words().watch}</a>
        </li>`;
      })}
    </ul>
  </section>`;
}
