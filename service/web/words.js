/** The page's words, in the language of the browser unless the person chose another. */

import { choice, choose } from "./kept.js";
import { english } from "./words-en.js";
import { portuguese } from "./words-pt.js";

export const LANGUAGES = { pt: portuguese, en: english };

export function language() {
  const spoken = navigator.languages ?? [navigator.language];
  const first = spoken.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES);
  return choice("language") ?? first ?? "en";
}

export function words() {
  return LANGUAGES[language()];
}

/** From now on in that language. */
export function speak(name) {
  choose("language", name);
  window.dispatchEvent(new Event("languagechange"));
}

export function nameTheLanguage() {
  document.documentElement.lang = words().tag;
}
