/** A game: its lobby, its table, or why it cannot be shown. */

import { html } from "../html.js";
import { refusal } from "../say.js";
import { words } from "../words.js";
import { Lobby } from "./lobby.js";
import { Title } from "./parts.js";
import { Table } from "./table.js";

export function GameScreen({ game, redraw }) {
  if (game.problem) return html`<${Closed} code=${game.problem} />`;
  if (game.view === null) return html`<main class="form-screen" aria-busy="true"><${Title}>Truco<//></main>`;
  if (game.view.status === "lobby") return html`<${Lobby} game=${game} redraw=${redraw} />`;
  return html`<${Table} game=${game} redraw=${redraw} />`;
}

function Closed({ code }) {
  return html`<main class="form-screen">
    <${Title}>Truco<//>
    <section class="panel">
      <p class="lead" role="alert">${refusal(code)}</p>
      <a class="button primary" href="#/">${words().back_home}</a>
    </section>
  </main>`;
}
