// Ask irdaemon what applies: node discover.mjs "fill a pdf form". The wire is docs/protocol.md.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { decode, encode } from "@msgpack/msgpack";
import { Dealer } from "zeromq";

const PROTOCOL = 2;
const TIMEOUT_MS = 10_000;

function socketPath() {
  if (process.env.IRDAEMON_SOCKET) return process.env.IRDAEMON_SOCKET;
  const bases = [process.env.XDG_RUNTIME_DIR, `/run/user/${process.getuid()}`];
  const base = bases.find((each) => each && existsSync(each));
  return base ? join(base, "irdaemon", "irdaemon.sock") : "";
}

async function ask(op, args) {
  const path = socketPath();
  if (!existsSync(path)) throw new Error(`no daemon at ${path || "IRDAEMON_SOCKET"}`);
  const socket = new Dealer({ linger: 0, sendTimeout: TIMEOUT_MS, receiveTimeout: TIMEOUT_MS });
  socket.connect(`ipc://${path}`);
  try {
    await socket.send(encode({ v: PROTOCOL, id: 1, op, args }));
    const [frame] = await socket.receive();
    const reply = decode(frame);
    if (reply.v !== PROTOCOL) throw new Error(`the daemon speaks protocol ${reply.v}, this ${PROTOCOL}`);
    if (!reply.ok) throw new Error(`${reply.error.message} (${reply.error.code})`);
    return reply.result;
  } finally {
    socket.close();
  }
}

try {
  const answer = await ask("discover", { text: process.argv.slice(2).join(" ") });
  for (const hit of answer.results) {
    console.log(`${hit.score.toFixed(2)}  ${hit.name}  ${hit.corpus}\n    ${hit.pointer}`);
  }
  if (answer.abstained) console.log(`nothing applies: ${answer.reason}`);
  process.exitCode = answer.abstained ? 1 : 0;
} catch (error) {
  console.error(`discover: ${error.message}`);
  process.exitCode = 3;
}
