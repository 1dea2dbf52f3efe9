/**
 * The egress port without a guard, for peers that a test starts on this machine. Records nothing, refuses nothing but
 * non-URLs.
 */
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { AppError, type ErrorCode } from "../../src/platform/errors.js";
import type { BodyReducer, Egress, EgressAnswer } from "../../src/platform/net/egress.js";

/** The codes are the guard's; they are texts here so that this file stands on the port alone. */
const failed = (code: string, cause?: unknown): AppError => new AppError(code as ErrorCode, { message: code, cause });

export const loopbackEgress: Egress = {
  checkUrl: (url) => {
    new URL(url);
  },
  fetch: async (url, options = {}) => {
    const { method = "GET", headers = {}, body, timeoutMs = 5_000, answerBytesMax = 1024 * 1024, signal } = options;
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = request(
          url,
          {
            method,
            headers,
            agent: false,
            signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
          },
          resolve,
        );
        outgoing.once("error", reject);
        outgoing.end(body);
      });
      return await answerOf(incoming, answerBytesMax, options.reducer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AppError) throw error;
      throw failed(deadline.aborted ? "egress_timeout" : "egress_unreachable", error);
    }
  },
  connect: async ({ host, port, timeoutMs = 5_000 }) =>
    await new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      socket.setTimeout(timeoutMs, () => {
        socket.destroy(new Error("timeout"));
      });
      socket.once("connect", () => {
        socket.setTimeout(0);
        socket.removeAllListeners("error");
        resolve(socket);
      });
      socket.once("error", (error) => {
        reject(failed("egress_unreachable", error));
      });
    }),
};

async function answerOf(
  incoming: IncomingMessage,
  bytesMax: number,
  reducer: BodyReducer | undefined,
): Promise<EgressAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw failed("egress_answer_too_large");
    if (reducer === undefined) chunks.push(chunk);
    else reducer.push(chunk);
  }
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  return { status: incoming.statusCode ?? 0, headers, body: reducer?.end() ?? Buffer.concat(chunks) };
}
