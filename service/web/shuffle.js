/**
 * The shuffle, done again from its seed: what the contract says of `getRecord`, in the browser.
 *
 * The seed's SHA-256 is the commitment of the first view. From the seed come the first dealer and every pack; from the
 * pack, the cut and the deal come the cards. If all that is as the record says, nobody chose a card.
 */

const RANKS = {
  french40: ["4", "5", "6", "7", "Q", "J", "K", "A", "2", "3"],
  french24: ["Q", "J", "K", "A", "2", "3"],
  spanish40: ["4", "5", "6", "7", "10", "11", "12", "1", "2", "3"],
};
const SUITS = ["C", "H", "S", "D"];
const HAND_SIZE = 3;

/** Whether this page may do the sums: browsers lend their cryptography to https and to one's own machine only. */
export const canCheck = Boolean(globalThis.crypto?.subtle);

/**
 * What is right in *record*. *seen* is the commitment that this browser saw first, null if it saw none.
 * `commitment` and `dealer` are true or false, `dealer` null in a rematch; `wrongHands` are numbers.
 */
export async function check(record, seen) {
  const seed = fromHex(record.seed);
  const drawn = await firstDealer(seed, record.seats.length);
  const wrongHands = [];
  for (const hand of record.hands) {
    if (!(await isDealtFrom(seed, record, hand))) wrongHands.push(hand.number);
  }
  return {
    commitment:
      (await sha256(seed)) === (seen ?? record.commitment) && (seen ?? record.commitment) === record.commitment,
    isSeen: seen !== null,
    dealer: record.rematch ? null : drawn === record.first_dealer,
    wrongHands,
  };
}

async function isDealtFrom(seed, record, hand) {
  const seats = record.seats.length;
  const pack = await shuffled(seed, record.rules.deck, hand.number);
  const dealer = (record.first_dealer + hand.number - 1) % seats;
  const isSamePack = dealer === hand.dealer && same(pack, hand.deck);
  const isDealt = hand.hands.some((cards) => cards.length > 0);
  if (!isSamePack || !isDealt) return isSamePack;
  const dealt = deal(pack, seats, dealer, hand.actions);
  return same(dealt.hands.flat(), hand.hands.flat()) && (hand.vira === null || hand.vira === dealt.vira);
}

/** The pack of a hand, top first, before it is cut. */
export async function shuffled(seed, deck, number) {
  const pack = RANKS[deck].flatMap((rank) => SUITS.map((suit) => rank + suit));
  const draw = drawing(seed, `hand:${number}`);
  for (let last = pack.length - 1; last > 0; last--) {
    const other = await draw(last + 1);
    [pack[last], pack[other]] = [pack[other], pack[last]];
  }
  return pack;
}

export function firstDealer(seed, seats) {
  return drawing(seed, "dealer")(seats);
}

/** Each seat's cards by slot, and the vira, by the hand's cut and deal; without them from the top, one by one. */
export function deal(pack, seats, dealer, actions) {
  const cut = actions.find(({ type }) => type === "cut") ?? {};
  const way = actions.find(({ type }) => type === "deal") ?? {};
  const depth = cut.at ?? 0;
  const whole = [...pack.slice(depth), ...pack.slice(0, depth)];
  const taker = cut.take_for ?? null;
  const taken = taker === null ? [] : whole.splice(0, HAND_SIZE);
  const next = () => (way.deal_from === "bottom" ? whole.pop() : whole.shift());
  const hands = Array.from({ length: seats }, (_, seat) => (seat === taker ? taken : []));
  const order = Array.from({ length: seats }, (_, place) => (dealer + 1 + place) % seats).filter(
    (seat) => seat !== taker,
  );
  const rounds =
    way.deal_style === "three_at_a_time"
      ? order.flatMap((seat) => Array(HAND_SIZE).fill(seat))
      : Array.from({ length: HAND_SIZE }, () => order).flat();
  for (const seat of rounds) hands[seat].push(next());
  return { hands, vira: next() };
}

/** Even draws from 0 to below a bound: bytes of HMAC blocks, without those that would favour the low numbers. */
function drawing(seed, label) {
  const bytes = blocks(seed, label);
  return async (bound) => {
    const usable = 256 - (256 % bound);
    for (;;) {
      const { value } = await bytes.next();
      if (value < usable) return value % bound;
    }
  };
}

async function* blocks(seed, label) {
  const key = await crypto.subtle.importKey("raw", seed, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  for (let block = 0; ; block++) {
    yield* new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${label}:${block}`)));
  }
}

async function sha256(bytes) {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...sum].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text) {
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}

function same(one, other) {
  return one.length === other.length && one.every((card, place) => card === other[place]);
}
