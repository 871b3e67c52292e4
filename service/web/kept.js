/**
 * What this browser remembers.
 *
 * In localStorage: the tokens of each game (`truco.game.<id>`) and the person's choices. In sessionStorage, so only for
 * this tab: requests whose answer, which holds tokens, has not come yet. Where the browser refuses to store anything,
 * the same is kept until the page is closed.
 */

const GAME = "truco.game.";
const CHOICE = "truco.choice.";
const UNANSWERED = "truco.unanswered.";
const GAMES_KEPT = 40;

class Drawer {
  constructor(open) {
    this.memory = new Map();
    try {
      this.storage = open();
    } catch {
      this.storage = null;
    }
  }

  get(key) {
    try {
      return JSON.parse(this.memory.get(key) ?? this.storage?.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }

  set(key, value) {
    const text = JSON.stringify(value);
    try {
      this.storage.setItem(key, text);
    } catch {
      this.memory.set(key, text);
    }
  }

  remove(key) {
    this.memory.delete(key);
    this.storage?.removeItem(key);
  }

  /** The values of all keys that begin with *prefix*, with what follows it. */
  all(prefix) {
    const keys = new Set([...this.memory.keys(), ...(this.storage ? Object.keys(this.storage) : [])]);
    return [...keys].filter((key) => key.startsWith(prefix)).map((key) => [key.slice(prefix.length), this.get(key)]);
  }
}

const visits = new Drawer(() => window.localStorage);
const tab = new Drawer(() => window.sessionStorage);

/** What is known of a game: `{seat, token, hostToken, joinCode, commitment, variant, at, finished}`, or null. */
export function keptGame(id) {
  return visits.get(GAME + id);
}

/** Adds *members* to what is known of a game. */
export function keepGame(id, members) {
  visits.set(GAME + id, { at: Date.now(), ...keptGame(id), ...members });
  for (const [old] of keptGames().slice(GAMES_KEPT)) forgetGame(old);
}

export function forgetGame(id) {
  visits.remove(GAME + id);
}

/** Pairs of id and what is known, newest first. */
export function keptGames() {
  return visits
    .all(GAME)
    .filter(([, game]) => game)
    .sort(([, one], [, other]) => other.at - one.at);
}

export function choice(name, otherwise = null) {
  return visits.get(CHOICE + name) ?? otherwise;
}

export function choose(name, value) {
  visits.set(CHOICE + name, value);
}

export function keepUnanswered(key, request) {
  tab.set(UNANSWERED + key, request);
}

export function forgetUnanswered(key) {
  tab.remove(UNANSWERED + key);
}

export function unanswered() {
  return tab.all(UNANSWERED);
}
