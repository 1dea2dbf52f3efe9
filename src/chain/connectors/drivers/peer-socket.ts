/**
 * A connection to a peer with a protocol other than HTTP: opened through the egress guard, with TLS where asked for,
 * read with a limit and a deadline.
 */
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AppError } from "../../../platform/errors.js";
import type { SocketAddress } from "../peers/peer-address.js";
import type { ConnectorConfig } from "../connector-schemas.js";
import type { Peer } from "./driver.js";
import { answerInvalid, fromSocket, PEER_TIMEOUT_MS, timedOut, unreachable } from "./peer-failures.js";

/** Longest answer of a handshake; a NATS INFO of a large cluster takes a few KiB. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** After each of these there is something to read, or never will be. */
const READ_EVENTS = ["readable", "end", "close", "error"] as const;

export interface PeerSocket {
  write(text: string | Uint8Array): void;
  /**
   * Resolves to the next line without its end. Rejects with `connector_unreachable` when the peer closes the
   * connection, `connector_answer_invalid` when the line is too long.
   */
  readLine(what: string): Promise<string>;
}

/** Opens a connection, runs `talk` over it and closes it, all within one deadline. */
export async function withPeerSocket<T>(
  peer: Peer,
  talk: (connection: {
    readonly address: SocketAddress;
    readonly plain: Socket;
    readonly signal: AbortSignal;
  }) => Promise<T>,
): Promise<T> {
  const { api: address } = peer.addresses;
  if (address?.kind !== "socket")
    throw new AppError("connector_not_ready", { message: "the connector has no address to be asked at" });
  const deadline = AbortSignal.timeout(PEER_TIMEOUT_MS);
  const signal = AbortSignal.any([peer.signal, deadline]);
  let plain: Socket | undefined;
  const hangUp = (): void => {
    plain?.destroy(unreachable());
  };
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    plain = await peer.egress.connect({ host: address.host, port: address.port, timeoutMs: PEER_TIMEOUT_MS });
    // An error after the last read must not end the process.
    plain.on("error", () => undefined);
    signal.throwIfAborted();
    return await talk({ address, plain, signal });
  } catch (error) {
    if (deadline.aborted && !peer.signal.aborted) throw timedOut(error);
    throw fromSocket(error, peer.signal);
  } finally {
    signal.removeEventListener("abort", hangUp);
    plain?.destroy();
  }
}

/** Returns `config.tls` as options of Node's TLS. The peer's certificate is always checked. */
function tlsOptions(host: string, tls: ConnectorConfig["tls"]): { readonly ca?: string; readonly servername?: string } {
  const { ca, server_name: serverName } = typeof tls === "object" ? tls : {};
  const name = serverName ?? (isIP(host) === 0 ? host : undefined);
  return { ...(ca === undefined ? {} : { ca }), ...(name === undefined ? {} : { servername: name }) };
}

/** Starts TLS over a connection. Rejects when the certificate is not valid. */
export async function secured(plain: Socket, host: string, tls: ConnectorConfig["tls"]): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connectTls({ socket: plain, ...tlsOptions(host, tls) }, () => {
      resolve(socket);
    });
    socket.once("error", reject);
    // TLS emits no error of its own when the connection below is closed.
    plain.once("close", () => {
      reject(unreachable());
    });
  });
}

/** Reads and writes lines. It leaves no listener behind, so that TLS can start between two lines. */
export function lines(socket: Socket): PeerSocket {
  let buffered = "";
  return {
    write: (text) => {
      socket.write(text);
    },
    readLine: async (what) => {
      for (;;) {
        const end = buffered.indexOf("\n");
        if (end >= 0) {
          const line = buffered.slice(0, end).replace(/\r$/, "");
          buffered = buffered.slice(end + 1);
          return line;
        }
        if (buffered.length > ANSWER_BYTES_MAX) throw answerInvalid(what);
        buffered += (await nextChunk(socket)).toString("latin1");
      }
    },
  };
}

/** Resolves to the next bytes. Rejects with `connector_unreachable` when the peer closes the connection. */
export async function nextChunk(socket: Socket): Promise<Buffer> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (socket.readableEnded || socket.destroyed) throw unreachable();
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        for (const event of READ_EVENTS) socket.removeListener(event, wake);
        resolve();
      };
      for (const event of READ_EVENTS) socket.on(event, wake);
    });
  }
}
