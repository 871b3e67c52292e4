/** Cards, drawn. A face is one SVG of 100 × 140, so it is as sharp in a hand as in a corner. */

import { classes, html } from "./html.js";
import { cardName, isSpanish, manilhaName, rankOf, suitOf } from "./say.js";
import { words } from "./words.js";

/** Each suit in a box of 20 × 20 around the origin. */
const SUITS = {
  C: "M0-9.5a4.6 4.6 0 0 0-4 6.9A4.6 4.6 0 1 0-1 3.3c-.2 2.3-1 4-2.7 6.2h7.4C2 7.3 1.2 5.6 1 3.3A4.6 4.6 0 1 0 4-2.6 4.6 4.6 0 0 0 0-9.5Z",
  H: "M0 9C-3 5.5-9 2-9-3.5A4.8 4.8 0 0 1 0-5.8 4.8 4.8 0 0 1 9-3.5C9 2 3 5.5 0 9Z",
  S: "M0-9.5C-3-5.5-9-2.5-9 2.2A4.3 4.3 0 0 0-1.2 4.6C-1.5 6.6-2.3 8-3.6 9.5h7.2C2.3 8 1.5 6.6 1.2 4.6A4.3 4.3 0 0 0 9 2.2C9-2.5 3-5.5 0-9.5Z",
  D: "M0-9.8C2-6 4.5-3 7.2 0 4.5 3 2 6 0 9.8-2 6-4.5 3-7.2 0-4.5-3-2-6 0-9.8Z",
};
const SPANISH_SUITS = {
  C: "M-3.4-8.8C-1.6-10 1.6-10 3.4-8.8 4.4-7.6 3-6.2 3.2-5.2L5.6-6.4 6.3-4.9 3.3-2.6C3.6-1.4 2.7-.2 2.6 1L1.7 8.8C1.3 10-1.3 10-1.7 8.8L-2.6 1C-2.7 0-3.2-.6-3.1-1.4L-6.2-2.3-5.8-4-3.3-3.6C-3.2-5-4.4-7.4-3.4-8.8Z",
  H: "M-7-9H7C7-3 5.2 .6 1.8 1.9V5.6C4.6 6 6.2 7.2 6.2 9H-6.2C-6.2 7.2-4.6 6-1.8 5.6V1.9C-5.2 .6-7-3-7-9ZM-5-7.2V-5.8H5V-7.2Z",
  S: "M0-10.5 2.7-7V3H7V5.6H1.5V7.4A1.9 1.9 0 1 1-1.5 7.4V5.6H-7V3H-2.7V-7Z",
  D: "M0-9A9 9 0 1 0 0 9 9 9 0 1 0 0-9ZM0-7A7 7 0 1 1 0 7 7 7 0 1 1 0-7ZM0-5.4 1.6-1.6 5.4 0 1.6 1.6 0 5.4-1.6 1.6-5.4 0-1.6-1.6Z",
};

/** Where the suit stands on a face: columns at 37, 50 and 63. */
const LEFT = 37;
const MIDDLE = 50;
const RIGHT = 63;
const PIPS = {
  A: [[MIDDLE, 70, 3]],
  1: [[MIDDLE, 70, 3]],
  2: [
    [MIDDLE, 42],
    [MIDDLE, 98],
  ],
  3: [
    [MIDDLE, 34],
    [MIDDLE, 70],
    [MIDDLE, 106],
  ],
  4: [
    [LEFT, 42],
    [RIGHT, 42],
    [LEFT, 98],
    [RIGHT, 98],
  ],
  5: [
    [LEFT, 38],
    [RIGHT, 38],
    [MIDDLE, 70],
    [LEFT, 102],
    [RIGHT, 102],
  ],
  6: [
    [LEFT, 36],
    [RIGHT, 36],
    [LEFT, 70],
    [RIGHT, 70],
    [LEFT, 104],
    [RIGHT, 104],
  ],
  7: [
    [LEFT, 36],
    [RIGHT, 36],
    [MIDDLE, 53],
    [LEFT, 70],
    [RIGHT, 70],
    [LEFT, 104],
    [RIGHT, 104],
  ],
};

/** What the court wear: Q, J, K, and the Spanish sota, caballo and rey; the caballo shows his horse. */
const CROWNS = {
  Q: "M-17 8c3-7 3-13 1-19 4 3 7 4 9 3 2-2 4-5 7-9 3 4 5 7 7 9 2 1 5 0 9-3-2 6-2 12 1 19Z M-16 11h32v3h-32Z",
  J: "M-16 9C-16-4-9-13 3-15c8-1 13 3 13 8-3-2-6-2-8 0 4 4 7 9 8 16Z M-17 11h34v4h-34Z",
  K: "M-18 9v-20l9 8 9-13 9 13 9-8V9Z M-18 12h36v4h-36Z",
  11: "M-9 16c0-8 3-11 8-15-5 1-8 3-10 5-2 1-6-1-6-4 3-6 6-10 10-13 1-2 3-3 5-3l2-5 4 5c9 4 12 14 11 30Z",
};
const COURT = { Q: "Q", J: "J", K: "K", 10: "J", 11: "11", 12: "K" };

/** The colour of a suit, as a class: two of the French ones are red, the Spanish each have their own. */
function inkOf(suit, deck) {
  return isSpanish(deck) ? `spanish-${suit}` : (suit === "H" || suit === "D") && "red";
}

function Suit({ suit, deck, x, y, size = 1 }) {
  return html`<path class="suit" d=${drawn(suit, deck)} transform=${`translate(${x} ${y}) scale(${size})`} />`;
}

function drawn(suit, deck) {
  return (isSpanish(deck) ? SPANISH_SUITS : SUITS)[suit];
}

/** Two digits are pressed together. */
function Rank({ rank, x, y, widest }) {
  const textLength = rank.length > 1 ? widest : undefined;
  return html`<text x=${x} y=${y} text-anchor="middle" textLength=${textLength} lengthAdjust="spacingAndGlyphs">
    ${rank}
  </text>`;
}

function Corner({ rank, suit, deck }) {
  return html`<g class="corner">
    <${Rank} rank=${rank} x=${16} y=${27} widest=${23} />
    <${Suit} suit=${suit} deck=${deck} x=${16} y=${39} size=${0.75} />
  </g>`;
}

function Court({ rank, suit, deck }) {
  const half = html`<g>
    <path class="crown" d=${CROWNS[COURT[rank]]} transform="translate(50 41)" />
    <${Suit} suit=${suit} deck=${deck} x=${50} y=${60} size=${0.9} />
  </g>`;
  return html`<g>
    <rect class="frame" x="28" y="20" width="44" height="100" rx="5" />
    <path class="sash" d="M28 82 72 58v7L28 89Z" />
    ${half}<g transform="rotate(180 50 70)">${half}</g>
  </g>`;
}

function Face({ card, deck }) {
  const rank = rankOf(card);
  const suit = suitOf(card);
  const pips = PIPS[rank];
  return html`<svg class=${classes("face", inkOf(suit, deck))} viewBox="0 0 100 140" aria-hidden="true">
    ${
      pips
        ? pips.map(([x, y, size = 0.85]) => html`<${Suit} suit=${suit} deck=${deck} x=${x} y=${y} size=${size} />`)
        : html`<${Court} rank=${rank} suit=${suit} deck=${deck} />`
    }
    <${Corner} rank=${rank} suit=${suit} deck=${deck} />
    <g transform="rotate(180 50 70)"><${Corner} rank=${rank} suit=${suit} deck=${deck} /></g>
  </svg>`;
}

/** The same where there is no room for pips: rank and suit, large. */
function SmallFace({ card, deck }) {
  const rank = rankOf(card);
  const suit = suitOf(card);
  return html`<svg class=${classes("face", "small", inkOf(suit, deck))} viewBox="0 0 100 140" aria-hidden="true">
    <${Rank} rank=${rank} x=${50} y=${62} widest=${62} />
    <${Suit} suit=${suit} deck=${deck} x=${50} y=${98} size=${2.9} />
  </svg>`;
}

/**
 * A card of *deck* as a picture. *card* null: its back. *covered* with a face: one's own covered card. *label*: in place
 * of its name; "" for a picture that says nothing. *manilhas* of the hand, strongest first: those are crowned.
 */
export function Card({ card, deck, covered = false, manilhas = null, small = false, label, look = "" }) {
  const crown = card && !covered && manilhaName(card, manilhas);
  const said = label ?? nameOfCard(card, deck, covered, manilhas);
  return html`<span
    class=${classes("card", !card && "back", covered && card && "covered", crown && "manilha", look)}
    role=${said ? "img" : undefined}
    aria-label=${said || undefined}
    aria-hidden=${said ? undefined : "true"}
  >
    ${card && (small ? html`<${SmallFace} card=${card} deck=${deck} />` : html`<${Face} card=${card} deck=${deck} />`)}
    ${crown && html`<span class="crowned" aria-hidden="true">${crown}</span>`}
  </span>`;
}

/** A card on the table as it is called. */
export function nameOfCard(card, deck, covered = false, manilhas = null) {
  if (!card) return covered ? words().coveredCard : words().back;
  return covered ? words().ownCovered(cardName(card, deck)) : cardName(card, deck, manilhas);
}

/** A suit by itself, for lines of text. */
export function SuitMark({ suit, deck }) {
  return html`<svg class=${classes("suit-mark", inkOf(suit, deck))} viewBox="-10 -10 20 20" aria-hidden="true">
    <path d=${drawn(suit, deck)} />
  </svg>`;
}
