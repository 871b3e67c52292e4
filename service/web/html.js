/** The vendored library, as the page uses it: `html` makes elements of templates, `render` draws them. */

import htm from "./vendor/htm.mjs";
import { h } from "./vendor/preact.mjs";

export { Component, render } from "./vendor/preact.mjs";
export const html = htm.bind(h);

/** Class names, without those that do not apply. */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}
