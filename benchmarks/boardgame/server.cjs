// node server.cjs PORT [DIRECTORY]: serves the card game on loopback, its matches in memory or as files in DIRECTORY.

const { FlatFile, Server } = require("boardgame.io/server");
const { CardGame } = require("./game.cjs");

const [port, directory] = process.argv.slice(2);
const server = Server({
  games: [CardGame],
  origins: ["http://127.0.0.1"],
  ...(directory && { db: new FlatFile({ dir: directory }) }),
});
const listen = server.app.listen.bind(server.app);
server.app.listen = (port, listening) => listen(port, "127.0.0.1", listening);
server.run(Number(port));
