/**
 * A POST whose body is sent in pieces over a connection of the egress guard, so that large content is not in memory
 * twice.
 */
import { request, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../../platform/errors.js";
import type { Egress, EgressAnswer } from "../../../platform/net/egress.js";
import { answerInvalid, fromSocket, timedOut, unreachable } from "./peer-failures.js";

interface StreamedPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly byteLength: number;
  readonly chunks: () => Iterable<Uint8Array>;
  /** A longer body is refused before anything is sent. */
  readonly bytesMax: number;
  readonly answerBytesMax: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Sends the request and reads the whole answer. Throws `body_too_large`, `connector_unreachable`, `connector_timeout`,
 * `connector_answer_invalid`, `egress_refused`.
 */
export async function postStreamed(egress: Egress, post: StreamedPost): Promise<EgressAnswer> {
  if (post.byteLength > post.bytesMax)
    throw new AppError("body_too_large", { message: `the content is larger than ${String(post.bytesMax)} bytes` });
  const deadline = AbortSignal.timeout(post.timeoutMs);
  const signal = AbortSignal.any([post.signal, deadline]);
  try {
    return await send(egress, post, signal);
  } catch (error) {
    if (deadline.aborted && !post.signal.aborted) throw timedOut(error);
    throw fromSocket(error, post.signal);
  }
}

async function send(egress: Egress, post: StreamedPost, signal: AbortSignal): Promise<EgressAnswer> {
  const url = new URL(post.url);
  const tls = url.protocol === "https:";
  const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
  const socket = await egress.connect({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    tls,
    timeoutMs: post.timeoutMs,
  });
  let sent: Promise<void> = Promise.resolve();
  try {
    signal.throwIfAborted();
    const outgoing = request({
      method: "POST",
      path: `${url.pathname}${url.search}`,
      createConnection: () => socket,
      signal,
      headers: { ...post.headers, host: url.host, "content-length": String(post.byteLength), connection: "close" },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      outgoing.once("close", () => {
        reject(unreachable());
      });
    });
    // A peer may refuse before it has read everything; its answer counts then, not the broken pipe.
    sent = pipeline(Readable.from(post.chunks()), outgoing).catch(() => undefined);
    const incoming = await answered;
    const body = await readAll(incoming, post.answerBytesMax);
    return { status: incoming.statusCode ?? 0, headers: textHeaders(incoming), body };
  } finally {
    socket.destroy();
    await sent;
  }
}

async function readAll(incoming: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw answerInvalid("a peer that keeps to the limits");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function textHeaders(incoming: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}
