/** What the service has on offer: variants, and bots if it has any. Asked once, when a screen first needs it. */

import { get, getPatiently, Problem } from "./api.js";

let variants = null;
let bots = null;

/** All variants, as the service describes them. */
export function allVariants() {
  variants ??= getPatiently("variants").then((answer) => answer.variants);
  return variants;
}

/** The kinds of bots; none where the service knows no bots. */
export function allBots() {
  bots ??= askForBots();
  return bots;
}

async function askForBots() {
  try {
    return (await getPatiently("bots")).bots;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return [];
    bots = null;
    throw error;
  }
}

const USUAL_BOT = "medium";

/** The kind to play against unless somebody chooses; undefined where there are none. */
export function usualBot(kinds) {
  return (kinds.find(({ kind }) => kind === USUAL_BOT) ?? kinds[0])?.kind;
}

/** Public games in a status. */
export async function publicGames(status) {
  return (await get(`games?status=${status}&limit=10`)).games;
}
