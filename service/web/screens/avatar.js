/** A seat's sign: a letter, or a robot's face. */

import { classes, html } from "../html.js";
import { nameOf } from "../say.js";

export function Avatar({ view, seat, children }) {
  const { kind, name, stand_in: standIn } = view.seats[seat];
  const isRobot = kind === "bot" || standIn;
  const letter = seat === view.viewer.seat ? (name ?? "?") : nameOf(view, seat);
  return html`<span class=${classes("avatar", `hue-${seat}`, kind)} aria-hidden="true">
    ${isRobot ? html`<${Robot} />` : kind === "open" ? "+" : [...letter][0]?.toUpperCase()} ${children}
  </span>`;
}

function Robot() {
  return html`<svg class="robot" viewBox="0 0 24 24">
    <path d="M11 2h2v3h4a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3V8a3 3 0 0 1 3-3h4Z M1 10h2v5H1Z M21 10h2v5h-2Z" />
    <circle cx="9" cy="11" r="1.7" />
    <circle cx="15" cy="11" r="1.7" />
    <rect x="8.5" y="14.5" width="7" height="1.8" rx=".9" />
  </svg>`;
}
