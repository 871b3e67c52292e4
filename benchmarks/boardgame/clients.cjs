// node clients.cjs PORT: boardgame.io's own clients over its socket.io transport.
//
// Each line of the input is an order in JSON: {connections, players, seconds, warmUpSeconds, mostPerSecond}. For each
// connection there is a player who moves again as soon as the client shows what the last move led to; with more than one
// of *players*, the others of its match are connected too, and are sent their views. A match is played for about as many
// moves as one of Truco takes; those that *mostPerSecond* need are joined beforehand. The answer is a line of JSON.

const readline = require("node:readline");
const { Client } = require("boardgame.io/client");
const { SocketIO } = require("boardgame.io/multiplayer");
const { CardGame } = require("./game.cjs");

const MOVES_OF_A_MATCH = 200;
const server = `http://127.0.0.1:${process.argv[2]}`;

async function post(path, body) {
  const answer = await fetch(server + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

// The clients of the first *players* of a new match; the first of them is the one who moves.
async function join(players) {
  const { matchID } = await post("/games/cards/create", { numPlayers: 4 });
  const clients = [];
  for (let player = 0; player < players; player++) clients.push(await sit(matchID, String(player)));
  return clients;
}

async function sit(matchID, playerID) {
  const { playerCredentials } = await post(`/games/cards/${matchID}/join`, { playerID, playerName: `P${playerID}` });
  const client = Client({
    game: CardGame,
    numPlayers: 4,
    matchID,
    playerID,
    credentials: playerCredentials,
    multiplayer: SocketIO({ server, socketOpts: { transports: ["websocket"], forceNew: true } }),
    debug: false,
  });
  client.start();
  await shows(client, (state) => state !== null && state.isConnected);
  return client;
}

function shows(client, isAwaited, act = () => {}) {
  return new Promise((resolve) => {
    const stop = client.subscribe((state) => {
      if (isAwaited(state)) {
        stop();
        resolve();
      }
    });
    act();
  });
}

// Moves in one match after the other until the time is up; notes how long each move took.
async function play(matches, times, latencies, counts) {
  for (const [client] of matches) {
    for (let move = 0; move < MOVES_OF_A_MATCH; move++) {
      const began = performance.now();
      if (began >= times.end) return;
      const { _stateID } = client.getState();
      await shows(client, (state) => state._stateID > _stateID, () => client.moves.play(move % 3));
      const now = performance.now();
      counts.moves++;
      if (now >= times.begin && now < times.end) latencies.push(now - began);
    }
  }
  throw new Error("a connection has played all matches that were joined for it");
}

async function carryOut({ connections, players, seconds, warmUpSeconds, mostPerSecond }) {
  const moves = mostPerSecond * (seconds + warmUpSeconds);
  const matches = Math.ceil(moves / connections / MOVES_OF_A_MATCH) + 1;
  const lanes = [];
  for (let lane = 0; lane < connections; lane++) {
    const joined = [];
    for (let match = 0; match < matches; match++) joined.push(await join(players));
    lanes.push(joined);
  }
  const latencies = [];
  const counts = { moves: 0 };
  const cpuBefore = process.cpuUsage();
  const begin = performance.now() + warmUpSeconds * 1000;
  const times = { begin, end: begin + seconds * 1000 };
  console.log("playing");
  await Promise.all(lanes.map((matches) => play(matches, times, latencies, counts)));
  console.log("played");
  const cpu = process.cpuUsage(cpuBefore);
  for (const client of lanes.flat(2)) client.stop();
  latencies.sort((one, other) => one - other);
  const percentile = (part) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))];
  return {
    per_second: latencies.length / seconds,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    answers: counts.moves,
    cpu_seconds: (cpu.user + cpu.system) / 1e6,
  };
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await carryOut(JSON.parse(line))));
  }
}

main();
