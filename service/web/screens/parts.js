/** Parts that several screens use. */

import { classes, Component, html } from "../html.js";
import { choice, choose } from "../kept.js";
import { PACES } from "../playback.js";
import { LANGUAGES, language, speak, words } from "../words.js";

export function Title({ children }) {
  return html`<header class="title">
    <a class="home" href="#/" aria-label=${words().back_home}><${Mark} /></a>
    <h1>${children}</h1>
    <${Languages} />
  </header>`;
}

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 64 64" aria-hidden="true">
    <rect x="8" y="6" width="34" height="50" rx="6" transform="rotate(-12 25 31)" />
    <rect x="22" y="6" width="34" height="50" rx="6" transform="rotate(8 39 31)" />
    <path d="M39 18a6 6 0 0 0-5.3 8.8A6 6 0 1 0 37.8 35.3c-.2 2.9-1.2 5-3.4 7.2h9.2c-2.2-2.2-3.2-4.3-3.4-7.2a6 6 0 1 0 4.1-8.5A6 6 0 0 0 39 18Z" />
  </svg>`;
}

export function Languages() {
  const now = language();
  return html`<span class="languages" role="group" aria-label=${words().lang}>
    ${Object.entries(LANGUAGES).map(
      ([name, { tag, name: title }]) => html`<button
        type="button"
        class="plain"
        lang=${tag}
        aria-label=${title}
        aria-pressed=${name === now}
        onClick=${() => speak(name)}
      >${name}</button>`,
    )}
  </span>`;
}

export function Paces({ redraw }) {
  const now = choice("pace", "calm");
  return html`<${Choices}
    legend=${words().pace}
    name="pace"
    value=${now}
    options=${Object.keys(PACES).map((pace) => [pace, words().paces[pace]])}
    onChoose=${(pace) => {
      choose("pace", pace);
      redraw();
    }}
  />`;
}

/** One of a few, all in sight. *options*: pairs of value and label. */
export function Choices({ legend, name, value, options, onChoose, hint }) {
  return html`<fieldset class="choices">
    <legend>${legend}</legend>
    <div class="options">
      ${options.map(
        ([option, label]) => html`<label class=${classes("option", option === value && "chosen")}>
          <input type="radio" name=${name} checked=${option === value} onChange=${() => onChoose(option)} />
          <span>${label}</span>
        </label>`,
      )}
    </div>
    ${hint && html`<p class="hint">${hint}</p>`}
  </fieldset>`;
}

/** One of many. */
export function Select({ label, value, options, onChoose, error, hint }) {
  const id = `select-${label.replace(/\W+/g, "-")}`;
  const picked = (event) => onChoose(options[event.currentTarget.selectedIndex][0]);
  return html`<p class=${classes("field", error && "wrong")}>
    <label for=${id}>${label}</label>
    <select id=${id} onChange=${picked} aria-describedby=${error || hint ? `${id}-hint` : undefined}>
      ${options.map(([option, text]) => html`<option selected=${option === value}>${text}</option>`)}
    </select>
    ${(error || hint) && html`<span class="hint" id=${`${id}-hint`}>${error ?? hint}</span>`}
  </p>`;
}

export function NameField({ value, onName, isNeeded }) {
  return html`<p class=${classes("field", isNeeded && "wrong")}>
    <label for="name">${words().yourName}</label>
    <input
      id="name"
      name="name"
      maxlength="24"
      autocomplete="nickname"
      value=${value}
      aria-invalid=${isNeeded ? "true" : undefined}
      aria-describedby=${isNeeded ? "name-hint" : undefined}
      onInput=${(event) => onName(event.currentTarget.value)}
    />
    ${isNeeded && html`<span class="hint" id="name-hint" role="alert">${words().nameNeeded}</span>`}
  </p>`;
}

/** A dialog that is open as long as it is drawn; *onClose* when Escape or its button closes it. */
export class Dialog extends Component {
  componentDidMount() {
    this.dialog.showModal();
  }

  componentWillUnmount() {
    this.dialog.close();
  }

  render({ title, onClose, children, look }) {
    return html`<dialog
      ref=${(dialog) => (this.dialog = dialog ?? this.dialog)}
      class=${look}
      aria-label=${title}
      onCancel=${(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick=${(event) => event.target === this.dialog && onClose()}
    >
      <div class="inside">
        <header>
          <h2>${title}</h2>
          <button type="button" class="plain" aria-label=${words().close} onClick=${onClose}>✕</button>
        </header>
        ${children}
      </div>
    </dialog>`;
  }
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, question, yes, onYes, onNo }) {
  return html`<${Dialog} title=${title} onClose=${onNo} look="confirm">
    <p>${question}</p>
    <div class="row">
      <button type="button" autofocus onClick=${onNo}>${words().no}</button>
      <button type="button" class="danger" onClick=${onYes}>${yes}</button>
    </div>
  <//>`;
}

/** A text to pass on, with buttons that copy or send it. */
export class PassOn extends Component {
  async copy() {
    await navigator.clipboard?.writeText(this.props.text).catch(() => {});
    this.setState({ isCopied: true });
    this.field.select();
  }

  render({ label, text, canShare }, { isCopied }) {
    return html`<p class="field pass-on">
      <label for="pass-on">${label}</label>
      <input
        id="pass-on"
        readonly
        value=${text}
        ref=${(field) => (this.field = field ?? this.field)}
        onFocus=${(event) => event.currentTarget.select()}
      />
      <span class="row">
        <button type="button" onClick=${() => this.copy()}>${isCopied ? words().copied : words().copy}</button>
        ${
          canShare &&
          navigator.share &&
          html`<button type="button" onClick=${() => navigator.share({ url: text, title: "Truco" }).catch(() => {})}>
          ${words().share}
        </button>`
        }
      </span>
    </p>`;
  }
}
