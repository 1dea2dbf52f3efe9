/**
 * PostgreSQL: a login with our credentials and one statement, over a connection of the egress guard. The only file that
 * imports pg.
 */
import type { Socket } from "node:net";
import pg from "pg";
import { AppError } from "../../../platform/errors.js";
import type { SocketAddress } from "../peer-addresses.js";
import type { ConnectorDriver, Peer } from "./driver.js";
import { isRecord } from "./http-peer.js";
import { answerInvalid, credentialsRejected, PEER_TIMEOUT_MS } from "./peer-failures.js";
import { tlsOptions, withPeerSocket } from "./peer-socket.js";

const SERVER = "a PostgreSQL server";
/** Class 28 of the SQLSTATE codes: invalid authorization. */
const INVALID_AUTHORIZATION = /^28/;
const UNKNOWN_DATABASE = "3D000";

export const sqlDriver: ConnectorDriver = {
  probe: async (peer) =>
    await withPeerSocket(peer, async ({ address, plain }) => {
      const client = clientOver(peer, address, plain);
      // pg tells of a lost connection by an event as well; the promise is what counts.
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
        // Ends with the connection, which the caller closes; a server that hangs must not hold it open.
        client.end().catch(() => undefined);
      }
    }),
};

function clientOver({ config, credentials }: Peer, address: SocketAddress, plain: Socket): pg.Client {
  return new pg.Client({
    stream: () => connected(plain),
    host: address.host,
    port: address.port,
    user: credentials["username"] ?? "postgres",
    password: credentials["password"] ?? "",
    database: config.database ?? address.path ?? "postgres",
    ssl: address.tls ? { ...tlsOptions(address.host, config.tls), rejectUnauthorized: true } : false,
    connectionTimeoutMillis: PEER_TIMEOUT_MS,
    query_timeout: PEER_TIMEOUT_MS,
    statement_timeout: PEER_TIMEOUT_MS,
    application_name: "proofwright",
  });
}

/** pg opens its stream itself; this one is open already, at an address that was checked. */
function connected(plain: Socket): Socket {
  const connect = (): Socket => {
    process.nextTick(() => {
      plain.emit("connect");
    });
    return plain;
  };
  return Object.assign(plain, { connect });
}

function fromServer(error: unknown): unknown {
  const code = error instanceof Error && isRecord(error) ? error["code"] : undefined;
  if (typeof code !== "string")
    return error instanceof Error && /SSL|password must be|SASL/.test(error.message)
      ? answerInvalid(SERVER, error)
      : error;
  if (INVALID_AUTHORIZATION.test(code)) return credentialsRejected(error);
  if (code === UNKNOWN_DATABASE)
    return new AppError("connector_refused", { message: "the server has no database of that name", cause: error });
  return /^[0-9A-Z]{5}$/.test(code)
    ? new AppError("connector_refused", { message: `the server refused with SQLSTATE ${code}`, cause: error })
    : error;
}
