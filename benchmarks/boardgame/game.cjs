// A small card game with secrets: four players hold three cards each, the pack lies face down. A move lays a card on
// the table and draws the next one; four cards on the table are a trick and are put away.
// STRIP_SECRETS shows a player its own cards and nothing of the pack.

const { INVALID_MOVE, PlayerView, ActivePlayers } = require("boardgame.io/core");

const RANKS = ["4", "5", "6", "7", "Q", "J", "K", "A", "2", "3"];
const SUITS = ["C", "H", "S", "D"];
const PACK = RANKS.flatMap((rank) => SUITS.map((suit) => rank + suit));

exports.CardGame = {
  name: "cards",
  disableUndo: true, // it would keep every state of the match
  playerView: PlayerView.STRIP_SECRETS,
  turn: { activePlayers: ActivePlayers.ALL },

  setup: ({ ctx, random }) => {
    const pack = random.Shuffle(PACK);
    const players = {};
    for (const player of ctx.playOrder) players[player] = { cards: pack.splice(0, 3) };
    return { secret: { pack }, players, table: [], tricks: 0 };
  },

  moves: {
    play: {
      client: false, // the client does not know the pack
      move: ({ G, playerID, random }, slot) => {
        const { cards } = G.players[playerID];
        if (!Number.isInteger(slot) || cards[slot] === undefined) return INVALID_MOVE;
        if (G.table.length === 4) {
          G.table = [];
          G.tricks += 1;
        }
        G.table.push({ seat: playerID, card: cards[slot] });
        if (G.secret.pack.length === 0) G.secret.pack = random.Shuffle(PACK);
        cards[slot] = G.secret.pack.pop();
      },
    },
  },
};
