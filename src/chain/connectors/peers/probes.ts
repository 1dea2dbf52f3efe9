/**
 * The types of connector and how each is reached and probed: one row a type, with its protocol, its default port and
 * the probe that says whether the peer is alive.
 */
import type { Credentials } from "../connector-schemas.js";
import type { Peer } from "../drivers/driver.js";
import { askPeer, isRecord, jsonOf } from "../drivers/http-peer.js";
import { probeIpfs } from "../drivers/ipfs-driver.js";
import { probeMongodb } from "../drivers/mongodb.js";
import { answerInvalid, credentialsRejected, unreachable } from "../drivers/peer-failures.js";
import { lines, secured, withPeerSocket, type PeerSocket } from "../drivers/peer-socket.js";
import { probePostgres } from "../drivers/postgres.js";

/**
 * Asks a peer whether it is alive and accepts the connector's credentials. Resolves to what the peer says it is, in one
 * line; rejects with `connector_unreachable`, `connector_timeout`, `connector_refused`, `connector_answer_invalid` or
 * `egress_refused`.
 */
export type PeerProbe = (peer: Peer) => Promise<string | undefined>;

export interface ConnectorKind {
  readonly protocol: "http" | "nats" | "redis" | "postgres" | "mongodb";
  /** Port when the address names none. */
  readonly port: number;
  /** URL schemes that an address may have: plain ones and those over TLS. */
  readonly schemes: { readonly plain: readonly string[]; readonly tls: readonly string[] };
  readonly probe: PeerProbe;
}

/** GET of `config.probe_path`: any status below 500 counts as alive, because the path may need other rights. */
const HTTP = { protocol: "http", schemes: { plain: ["http"], tls: ["https"] }, probe: probeHttp } as const;
/** A login and one statement. */
const POSTGRES = {
  protocol: "postgres",
  schemes: { plain: ["postgres", "postgresql"], tls: [] },
  probe: probePostgres,
} as const;
/** CONNECT with the credentials and PING: the PONG counts as alive. */
const NATS = { protocol: "nats", schemes: { plain: ["nats"], tls: ["tls"] }, probe: probeNats } as const;
/** AUTH, PING and SELECT: +PONG and +OK count as alive. */
const REDIS = { protocol: "redis", schemes: { plain: ["redis"], tls: ["rediss"] }, probe: probeRedis } as const;
/** The server's answer to `hello`, which needs no login, counts as alive. */
const MONGODB = { protocol: "mongodb", probe: probeMongodb } as const;

export const CONNECTOR_KINDS = {
  axiom: { ...HTTP, port: 8080 },
  elasticsearch: { ...HTTP, port: 9200, probe: probeElasticsearch },
  ipfs: { ...HTTP, port: 5001, probe: probeIpfs },
  mongodb: { ...MONGODB, port: 27_017, schemes: { plain: ["mongodb"], tls: [] } },
  nats: { ...NATS, port: 4222 },
  provide: { ...HTTP, port: 8080 },
  redis: { ...REDIS, port: 6379 },
  rest: { ...HTTP, port: 80 },
  splunk: { ...HTTP, port: 8088 },
  sql: { ...POSTGRES, port: 5432 },
  tableau: { ...HTTP, port: 80 },
  unibright: { ...HTTP, port: 8080 },
  zokrates: { ...HTTP, port: 8080 },
} as const satisfies Record<string, ConnectorKind>;

export type ConnectorType = keyof typeof CONNECTOR_KINDS;
export const CONNECTOR_TYPES = Object.keys(CONNECTOR_KINDS) as readonly ConnectorType[];

const NATS_SERVER = "a NATS server";
/** Lines that may come before the PONG: a new INFO, +OK, the server's own PING. */
const NATS_LINES_MAX = 16;
const REDIS_SERVER = "a Redis server";

/** Returns the type that a text names, in upper or lower case. */
export function findConnectorType(text: string): ConnectorType | undefined {
  const name = text.trim().toLowerCase();
  return CONNECTOR_TYPES.find((type) => type === name);
}

async function probeHttp(peer: Peer): Promise<string | undefined> {
  const { status, headers } = await askPeer(peer, peer.config.probe_path ?? "/");
  if (status >= 500) throw unreachable();
  return headers["server"]?.replace(/[^\x20-\x7e]/g, "").slice(0, 100);
}

/** GET / names the product, its version and its cluster; with `config.probe_path`, any HTTP server counts as alive. */
async function probeElasticsearch(peer: Peer): Promise<string | undefined> {
  if (peer.config.probe_path !== undefined) return await probeHttp(peer);
  const answer = await askPeer(peer, "/");
  if (answer.status >= 500) throw unreachable();
  const what = "an Elasticsearch server";
  const root = jsonOf(answer, what);
  const version: unknown = isRecord(root) ? root["version"] : undefined;
  if (!isRecord(version) || typeof version["number"] !== "string") throw answerInvalid(what);
  const { distribution, number } = version;
  return `${typeof distribution === "string" ? distribution : "elasticsearch"} ${number}`
    .replace(/[^\x20-\x7e]/g, "")
    .slice(0, 100);
}

/** The client's handshake (docs.nats.io, client protocol): INFO, TLS where the server requires it, CONNECT, PING. */
async function probeNats(peer: Peer): Promise<string | undefined> {
  return await withPeerSocket(peer, async ({ address, plain }) => {
    let connection = lines(plain);
    const info = natsInfo(await connection.readLine(NATS_SERVER));
    const tls = address.tls || info["tls_required"] === true;
    if (tls) connection = lines(await secured(plain, address.host, peer.config.tls));
    const options = { ...natsOptions(peer.credentials), tls_required: tls };
    connection.write(`CONNECT ${JSON.stringify(options)}\r\nPING\r\n`);
    await untilPong(connection);
    const version: unknown = info["version"];
    return typeof version === "string" ? `nats-server ${version.slice(0, 40)}` : undefined;
  });
}

function natsInfo(line: string): Readonly<Record<string, unknown>> {
  if (!line.startsWith("INFO ")) throw answerInvalid(NATS_SERVER);
  try {
    const info: unknown = JSON.parse(line.slice("INFO ".length));
    if (isRecord(info)) return info;
  } catch (error) {
    throw answerInvalid(NATS_SERVER, error);
  }
  throw answerInvalid(NATS_SERVER);
}

function natsOptions({ username, password, token }: Credentials): Readonly<Record<string, unknown>> {
  return {
    verbose: false,
    pedantic: false,
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
  for (let count = 0; count < NATS_LINES_MAX; count += 1) {
    const line = await connection.readLine(NATS_SERVER);
    if (line === "PONG") return;
    if (line === "PING") connection.write("PONG\r\n");
    else if (/^-ERR .*(authorization|authentication)/i.test(line)) throw credentialsRejected();
    else if (line !== "+OK" && !line.startsWith("INFO ")) throw answerInvalid(NATS_SERVER);
  }
  throw answerInvalid(NATS_SERVER);
}

/** Commands in RESP (redis.io, serialization protocol), over TLS for `rediss://`. */
async function probeRedis(peer: Peer): Promise<string> {
  return await withPeerSocket(peer, async ({ address, plain }) => {
    const connection = lines(address.tls ? await secured(plain, address.host, peer.config.tls) : plain);
    const { username, password } = peer.credentials;
    if (password !== undefined)
      await redisCommand(connection, username === undefined ? ["AUTH", password] : ["AUTH", username, password], "+OK");
    await redisCommand(connection, ["PING"], "+PONG");
    if (address.path !== undefined) await redisCommand(connection, ["SELECT", address.path], "+OK");
    return "redis";
  });
}

/**
 * Sends `*<words>` and for each word its length in bytes and itself, so that nothing in a password can become a
 * command. Rejects unless the answer is the expected one.
 */
async function redisCommand(connection: PeerSocket, words: readonly string[], expected: string): Promise<void> {
  const parts = words.map((word) => `$${String(Buffer.byteLength(word))}\r\n${word}\r\n`);
  connection.write(Buffer.from(`*${String(words.length)}\r\n${parts.join("")}`));
  const line = await connection.readLine(REDIS_SERVER);
  if (line === expected) return;
  if (/^-(NOAUTH|WRONGPASS|NOPERM|ERR (invalid password|AUTH|Client sent AUTH))/i.test(line))
    throw credentialsRejected();
  throw answerInvalid(REDIS_SERVER);
}
