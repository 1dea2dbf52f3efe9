/**
 * PostgreSQL: a login with the connector's credentials and one statement, over a connection of the egress guard. The
 * only file that imports pg.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type pg from "pg";
import { AppError } from "../../../platform/errors.js";
import type { SocketAddress } from "../peers/peer-address.js";
import type { Peer } from "./driver.js";
import { isRecord } from "./http-peer.js";
import { answerInvalid, credentialsRejected, PEER_TIMEOUT_MS } from "./peer-failures.js";
import { nextChunk, secured, withPeerSocket } from "./peer-socket.js";

const SERVER = "a PostgreSQL server";
/** SSLRequest: length and code. */
const SSL_REQUEST = Buffer.from("0000000804d2162f", "hex");
/** Class 28 of the SQLSTATE codes: invalid authorization. */
const INVALID_AUTHORIZATION = /^28/;
const UNKNOWN_DATABASE = "3D000";

/** Logs in and asks for the server's version. Rejects as PeerProbe says. */
export async function probePostgres(peer: Peer): Promise<string | undefined> {
  // It takes 25 ms to load, and few servers ask a database.
  const { default: driver } = await import("pg");
  return await withPeerSocket(peer, async ({ address, plain }) => {
    const client = clientOver(driver, peer, address, address.tls ? await upgraded(peer, address, plain) : plain);
    // pg reports a lost connection by an event as well as by the rejected promise, which is enough here.
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ version: string }>("SELECT current_setting('server_version') AS version");
      const version = rows[0]?.version;
      return typeof version === "string"
        ? `PostgreSQL ${version.replace(/[^\x20-\x7e]/g, "").slice(0, 40)}`
        : undefined;
    } catch (error) {
      throw fromServer(error);
    } finally {
      // Not awaited: the caller closes the connection, and a server that hangs must not keep it open.
      client.end().catch(() => undefined);
    }
  });
}

/**
 * Asks the server for TLS and starts it (PostgreSQL, "SSL Session Encryption"). pg would do so as well, but TLS over a
 * stream of another kind than Node's sockets reports its failures too late for pg.
 */
async function upgraded({ config }: Peer, address: SocketAddress, plain: Socket): Promise<Socket> {
  plain.write(SSL_REQUEST);
  // More than this one byte would be data that was sent in front of TLS and not protected by it.
  if ((await nextChunk(plain)).toString("latin1") !== "S") throw answerInvalid(SERVER);
  return await secured(plain, address.host, config.tls);
}

function clientOver(
  driver: typeof pg,
  { config, credentials }: Peer,
  address: SocketAddress,
  socket: Socket,
): pg.Client {
  return new driver.Client({
    stream: () => new OpenStream(socket),
    host: address.host,
    port: address.port,
    user: credentials["username"] ?? "postgres",
    password: credentials["password"] ?? "",
    database: config.database ?? address.path ?? "postgres",
    ssl: false,
    connectionTimeoutMillis: PEER_TIMEOUT_MS,
    query_timeout: PEER_TIMEOUT_MS,
    statement_timeout: PEER_TIMEOUT_MS,
    application_name: "proofwright",
  });
}

/**
 * A stream over a connection that is open already. pg calls `connect` on the stream that it is given and waits for the
 * event of the same name; the address was checked and connected to by the egress guard before.
 */
class OpenStream extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.once("end", () => {
      this.push(null);
    });
    socket.once("error", (error) => {
      this.destroy(error);
    });
    socket.once("close", () => {
      // After a regular end, what was received is read first, and the stream then closes by itself.
      if (!socket.readableEnded) this.destroy();
    });
  }

  connect(): this {
    process.nextTick(() => {
      this.emit("connect");
    });
    return this;
  }

  setNoDelay(noDelay: boolean): this {
    this.#socket.setNoDelay(noDelay);
    return this;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}

/** Returns a failure of pg as one of connectors. */
function fromServer(error: unknown): unknown {
  const code = error instanceof Error && isRecord(error) ? error["code"] : undefined;
  if (typeof code !== "string")
    return error instanceof Error && /password must be|SASL/.test(error.message) ? answerInvalid(SERVER, error) : error;
  if (INVALID_AUTHORIZATION.test(code)) return credentialsRejected(error);
  if (code === UNKNOWN_DATABASE)
    return new AppError("connector_refused", { message: "the server has no database of that name", cause: error });
  return /^[0-9A-Z]{5}$/.test(code)
    ? new AppError("connector_refused", { message: `the server refused with SQLSTATE ${code}`, cause: error })
    : error;
}
