/** Before the start: who sits where, the invitation, and the door for those who come by it. */

import { Component, html } from "../html.js";
import { choice, choose } from "../kept.js";
import { allBots } from "../offers.js";
import { botName, nameOf, refusal, variantName } from "../say.js";
import { join, leave, move, seatBot } from "../sitting.js";
import { words } from "../words.js";
import { Avatar } from "./avatar.js";
import { NameField, PassOn, Title } from "./parts.js";

/** The address that lets others in; a public game needs no code. */
function invitationTo(id, code) {
  return new URL(code ? `#/join/${id}/${code}` : `#/game/${id}`, document.baseURI).href;
}

export class Lobby extends Component {
  constructor() {
    super();
    this.state = { name: choice("name", ""), bots: [], isNameNeeded: false, problem: null, isBusy: false };
  }

  componentDidMount() {
    if (this.props.game.kept.hostToken)
      allBots().then(
        (bots) => this.setState({ bots }),
        () => {},
      );
  }

  /** Runs *what* once at a time, and says why if it is refused. */
  async does(what) {
    if (this.state.isBusy) return;
    this.setState({ isBusy: true, problem: null });
    try {
      await what();
    } catch (error) {
      this.setState({ problem: error.code ?? "other" });
    }
    this.setState({ isBusy: false });
  }

  /** Takes a seat, or another one, and looks at the game with the new token. */
  sit(seat) {
    const { game, redraw } = this.props;
    const name = this.state.name.trim();
    if (!name) return this.setState({ isNameNeeded: true });
    game.stop(); // between two seats there is nothing to look with
    this.does(async () => {
      try {
        await (game.kept.token ? move(game.id, seat, name) : join(game.id, { name, seat }));
      } finally {
        game.restart();
        redraw();
      }
    });
  }

  stand() {
    const { game } = this.props;
    this.does(async () => {
      await leave(game.id);
      location.hash = "#/";
    });
  }

  clear() {
    this.does(async () => {
      await this.props.game.cancel();
      location.hash = "#/";
    });
  }

  render({ game }, { name, isNameNeeded, problem, isBusy }) {
    const { view, kept } = game;
    const missing = view.seats.filter(({ kind }) => kind === "open" || kind === "reserved").length;
    const invitation = invitationTo(game.id, kept.joinCode);
    return html`<main class="form-screen" aria-busy=${isBusy}>
      <${Title}>${words().lobby}<//>
      <section class="panel">
        <p class="lead" role="status">${words().waitingFor(missing)}</p>
        <p class="hint">${variantName(view.variant)} · ${words().startsWhenFull}</p>
        <ol class="seats">
          ${view.seats.map((seat) => this.seat(seat))}
        </ol>
        ${
          game.me === null &&
          html`<${NameField} value=${name} isNeeded=${isNameNeeded} onName=${(typed) => this.named(typed)} />`
        }
        ${problem && html`<p class="problem" role="alert">${refusal(problem)}</p>`}
      </section>
      <section class="panel">
        <${PassOn} label=${words().inviteLink} text=${invitation} canShare />
        ${kept.joinCode && html`<p class="code">${words().joinCode}: <code>${kept.joinCode}</code></p>`}
      </section>
      <div class="row">
        ${kept.token && html`<button type="button" onClick=${() => this.stand()}>${words().leaveSeat}</button>`}
        ${kept.hostToken && html`<button type="button" onClick=${() => this.clear()}>${words().cancelGame}</button>`}
      </div>
    </main>`;
  }

  seat({ seat, team, kind, name, presence }) {
    const { game } = this.props;
    const { bots } = this.state;
    const isHost = Boolean(game.kept.hostToken);
    const isMine = seat === game.me;
    const who = { open: words().openSeat, reserved: `${name} (${words().reservedSeat})`, bot: botName(name) }[kind];
    return html`<li class=${`team-${team}`}>
      <${Avatar} view=${game.view} seat=${seat} />
      <span class="who">
        <strong>${who ?? nameOf(game.view, seat)}</strong>
        ${presence && !isMine && html`<small>${words()[presence]}</small>`}
      </span>
      ${kind === "open" && html`<button type="button" onClick=${() => this.sit(seat)}>${words().sitHere}</button>`}
      ${
        kind === "open" &&
        isHost &&
        bots.length > 0 &&
        html`<select
        aria-label=${`${words().putBot}, ${words().seat(seat + 1)}`}
        onChange=${({ currentTarget }) => {
          const { value } = currentTarget;
          currentTarget.selectedIndex = 0;
          this.does(() => seatBot(game.id, value, seat));
        }}
      >
        <option value="">${words().putBot}</option>
        ${bots.map((bot) => html`<option value=${bot.kind}>${botName(bot.kind)}</option>`)}
      </select>`
      }
      ${
        kind !== "open" &&
        isHost &&
        !isMine &&
        html`<button type="button" class="plain" onClick=${() => this.does(() => game.free(seat))}>
          ${words().freeSeat}
        </button>`
      }
    </li>`;
  }

  named(name) {
    choose("name", name);
    this.setState({ name, isNameNeeded: false });
  }
}

/** Somebody has come by an invitation's address; its code opens a private game. */
export class Invitation extends Component {
  constructor() {
    super();
    this.state = { name: choice("name", ""), isNameNeeded: false, isBusy: false, problem: null };
  }

  async enter() {
    const { id, code } = this.props;
    const name = this.state.name.trim();
    if (this.state.isBusy) return;
    if (!name) return this.setState({ isNameNeeded: true });
    this.setState({ isBusy: true, problem: null });
    try {
      await join(id, { name, code });
      location.replace(`#/game/${id}`);
    } catch (error) {
      this.setState({ isBusy: false, problem: error.code });
    }
  }

  render(_, { name, isNameNeeded, isBusy, problem }) {
    return html`<main class="form-screen">
      <${Title}>Truco<//>
      <form
        class="panel"
        onSubmit=${(event) => {
          event.preventDefault();
          this.enter();
        }}
      >
        <p class="lead">${words().invited}</p>
        <p>${words().invitedBy}</p>
        <${NameField}
          value=${name}
          isNeeded=${isNameNeeded}
          onName=${(typed) => {
            choose("name", typed);
            this.setState({ name: typed, isNameNeeded: false });
          }}
        />
        ${problem && html`<p class="problem" role="alert">${refusal(problem)}</p>`}
        <button class="primary big" aria-busy=${isBusy}>${isBusy ? words().joining : words().join}</button>
      </form>
    </main>`;
  }
}
