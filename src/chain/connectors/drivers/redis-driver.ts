/** Redis: AUTH with our credentials and PING, in RESP (redis.io, serialization protocol), over TLS for `rediss://`. */
import type { ConnectorDriver } from "./driver.js";
import { answerInvalid, credentialsRejected } from "./peer-failures.js";
import { lines, secured, withPeerSocket, type PeerSocket } from "./peer-socket.js";

const SERVER = "a Redis server";

export const redisDriver: ConnectorDriver = {
  probe: async (peer) =>
    await withPeerSocket(peer, async ({ address, plain }) => {
      const connection = lines(address.tls ? await secured(plain, address.host, peer.config.tls) : plain);
      const { username, password } = peer.credentials;
      if (password !== undefined)
        expectText(
          await ask(connection, username === undefined ? ["AUTH", password] : ["AUTH", username, password]),
          "+OK",
        );
      expectText(await ask(connection, ["PING"]), "+PONG");
      if (address.path !== undefined) expectText(await ask(connection, ["SELECT", address.path]), "+OK");
      return "redis";
    }),
};

async function ask(connection: PeerSocket, words: readonly string[]): Promise<string> {
  connection.write(encodeCommand(words));
  return await connection.readLine(SERVER);
}

/** `*<words>` and for each word its length in bytes and itself: nothing in a password can become a command. */
function encodeCommand(words: readonly string[]): Buffer {
  const parts = words.map((word) => `$${String(Buffer.byteLength(word))}\r\n${word}\r\n`);
  return Buffer.from(`*${String(words.length)}\r\n${parts.join("")}`);
}

function expectText(line: string, expected: string): void {
  if (line === expected) return;
  if (/^-(NOAUTH|WRONGPASS|NOPERM|ERR (invalid password|AUTH|Client sent AUTH))/i.test(line))
    throw credentialsRejected();
  throw answerInvalid(SERVER);
}
