/** Behind the ☰: what happened, this game's rules, settings, the way out. And the story, which wide screens show. */

import { Component, html } from "../html.js";
import { cardsText, variantName } from "../say.js";
import { words } from "../words.js";
import { Confirm, Dialog, Languages, Paces } from "./parts.js";

export class Menu extends Component {
  constructor() {
    super();
    this.state = { isResigning: false };
  }

  render({ game, redraw, onClose }, { isResigning }) {
    const { view } = game;
    if (isResigning) {
      return html`<${Confirm}
        title=${words().resignTitle}
        question=${words().resignQuestion}
        yes=${words().resignYes}
        onNo=${onClose}
        onYes=${() => {
          game.resign();
          onClose();
        }}
      />`;
    }
    return html`<${Dialog} title=${words().menu} onClose=${onClose} look="menu">
      <div class="row">
        <a class="button" href="#/">${words().back_home}</a>
        ${
          game.me !== null &&
          view.status === "playing" &&
          html`<button type="button" class="danger" onClick=${() => this.setState({ isResigning: true })}>
            ${words().resign}
          </button>`
        }
      </div>
      <div class="row"><${Languages} /></div>
      <${Paces} redraw=${redraw} />
      <details open><summary>${words().story}</summary><${Lines} story=${game.story} /></details>
      <details>
        <summary>${words().thisGame}: ${variantName(view.variant)}</summary>
        <${Rules} rules=${view.rules} />
      </details>
      <details>
        <summary>${words().commitment}</summary>
        <p class="hint">${words().commitmentLong}</p>
        <code class="hash">${view.shuffle.commitment}</code>
      </details>
    <//>`;
  }
}

export function Story({ game }) {
  return html`<section class="story">
    <h2>${words().story}</h2>
    <${Lines} story=${game.story} />
  </section>`;
}

function Lines({ story }) {
  if (story.length === 0) return html`<p class="hint">${words().noStory}</p>`;
  return html`<ol class="lines" tabindex="0" aria-label=${words().story}>
    ${story.map((line) => html`<li>${line}</li>`)}
  </ol>`;
}

function Rules({ rules }) {
  const shown = Object.keys(words().rules).map((name) => [name, ruleText(name, rules[name], rules.deck)]);
  return html`<dl class="rule-list">
    ${shown.map(([name, text]) => html`<div><dt>${words().rules[name]}</dt><dd>${text}</dd></div>`)}
  </dl>`;
}

function ruleText(name, value, deck) {
  if (name === "ladder") return value.join(" · ");
  if (Array.isArray(value)) return words().fixed(cardsText(value, deck));
  return words().ruleValues[name]?.[value] ?? String(value);
}
