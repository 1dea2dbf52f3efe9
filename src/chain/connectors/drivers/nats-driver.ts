/**
 * NATS: the client handshake (docs.nats.io, client protocol): INFO, TLS where the server asks for it, CONNECT with our
 * credentials, PING, and the PONG that says that they were taken.
 */
import type { Credentials } from "../connector-schemas.js";
import type { ConnectorDriver } from "./driver.js";
import { isRecord } from "./http-peer.js";
import { answerInvalid, credentialsRejected } from "./peer-failures.js";
import { lines, secured, withPeerSocket, type PeerSocket } from "./peer-socket.js";

const SERVER = "a NATS server";
/** Lines that may come before the PONG: a new INFO, +OK, the server's own PING. */
const LINES_MAX = 16;

export const natsDriver: ConnectorDriver = {
  probe: async (peer) =>
    await withPeerSocket(peer, async ({ address, plain }) => {
      let connection = lines(plain);
      const info = infoOf(await connection.readLine(SERVER));
      const tls = address.tls || info["tls_required"] === true;
      if (tls) connection = lines(await secured(plain, address.host, peer.config.tls));
      connection.write(`CONNECT ${JSON.stringify(connectOf(peer.credentials, tls))}\r\nPING\r\n`);
      await untilPong(connection);
      const version: unknown = info["version"];
      return typeof version === "string" ? `nats-server ${version.slice(0, 40)}` : undefined;
    }),
};

function infoOf(line: string): Readonly<Record<string, unknown>> {
  if (!line.startsWith("INFO ")) throw answerInvalid(SERVER);
  try {
    const info: unknown = JSON.parse(line.slice("INFO ".length));
    if (isRecord(info)) return info;
  } catch (error) {
    throw answerInvalid(SERVER, error);
  }
  throw answerInvalid(SERVER);
}

function connectOf({ username, password, token }: Credentials, tls: boolean): Readonly<Record<string, unknown>> {
  return {
    verbose: false,
    pedantic: false,
    tls_required: tls,
    lang: "node",
    version: "1",
    protocol: 1,
    name: "proofwright",
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { auth_token: token }),
  };
}

async function untilPong(connection: PeerSocket): Promise<void> {
  for (let count = 0; count < LINES_MAX; count += 1) {
    const line = await connection.readLine(SERVER);
    if (line === "PONG") return;
    if (line === "PING") connection.write("PONG\r\n");
    else if (/^-ERR .*(authorization|authentication)/i.test(line)) throw credentialsRejected();
    else if (line !== "+OK" && !line.startsWith("INFO ")) throw answerInvalid(SERVER);
  }
  throw answerInvalid(SERVER);
}
