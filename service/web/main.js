/**
 * The table: starts here.
 *
 * The address's fragment says which screen it is; a fragment is never sent to anybody, so an invitation's code can be
 * in it. Everything is drawn from plain values: something changes, `redraw` is called, the screen is drawn again.
 *
 *   #/                    home             #/game/<id>            lobby, table, end
 *   #/new                 new game         #/join/<id>/<code>     an invitation
 *   #/record/<id>         the record
 */

import { Game } from "./game.js";
import { html, render } from "./html.js";
import { keptGame } from "./kept.js";
import { GameScreen } from "./screens/game.js";
import { Home } from "./screens/home.js";
import { Invitation } from "./screens/lobby.js";
import { NewGame } from "./screens/new-game.js";
import { Record } from "./screens/record.js";
import { resume } from "./sitting.js";
import { nameTheLanguage, words } from "./words.js";

let game = null;
let isDue = false;

/** Draws the screen anew, once for all changes of this moment. */
function redraw() {
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    render(screen(), document.getElementById("page"));
    document.title = game?.isAtRest && game.isMyTurn ? `● ${words().turn.yours}` : "Truco";
  });
}

function screen() {
  const [where, id, code] = location.hash.replace(/^#\/?/, "").split("/");
  if (game && (where !== "game" || game.id !== id)) {
    game.stop();
    game = null;
  }
  if (where === "new") return html`<${NewGame} redraw=${redraw} />`;
  if (where === "record") return html`<${Record} key=${id} id=${id} redraw=${redraw} />`;
  if (where === "join" && !keptGame(id)?.token) return html`<${Invitation} key=${id} id=${id} code=${code} />`;
  if (where === "join") {
    location.replace(`#/game/${id}`);
    return null;
  }
  if (where !== "game") return html`<${Home} redraw=${redraw} />`;
  game ??= new Game(id, redraw);
  return html`<${GameScreen} key=${id} game=${game} redraw=${redraw} />`;
}

window.addEventListener("hashchange", () => {
  redraw();
  window.scrollTo(0, 0);
});
window.addEventListener("languagechange", () => {
  nameTheLanguage();
  redraw();
});
nameTheLanguage();
redraw();
const id = await resume();
if (id) location.hash = `#/game/${id}`;
