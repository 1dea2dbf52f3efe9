// How a stream ends with its connection when the socket does not take its last message at once. The response is a
// double: no real socket can be filled to its last byte and no further.
import { describe, expect, it } from "vitest";
import { Exchange } from "../../../../src/platform/http/request/exchange.js";
import { StreamAnswer } from "../../../../src/platform/http/response/stream-answer.js";
import { nextTurn } from "../../../../src/platform/concurrency/next-turn.js";
import { readHead } from "../../../../src/platform/http/request/request-head.js";

/** Opens a stream on a connection that is to close, whose socket takes `accepts` writes at once. */
function openStream(accepts: number) {
  const seen = { written: "", closed: false, writable: (_offset: number): boolean => true };
  let left = accepts;
  const none = (): undefined => undefined;
  const response = {
    ...{
      onAborted: none,
      onData: none,
      writeStatus: none,
      writeHeader: none,
      end: none,
      endWithoutBody: none,
      pause: none,
      resume: none,
    },
    onWritable: (handler: (offset: number) => boolean) => {
      seen.writable = handler;
    },
    cork: (write: () => void) => {
      write();
    },
    tryEnd: (): [boolean, boolean] => [true, true],
    write: (chunk: string | Uint8Array) => {
      seen.written += Buffer.from(chunk).toString();
      left -= 1;
      return left >= 0;
    },
    getWriteOffset: () => 0,
    close: () => {
      seen.closed = true;
    },
    getRemoteAddress: () => new ArrayBuffer(4),
    getRemoteAddressAsText: () => new ArrayBuffer(4),
  };
  const head = readHead({
    getUrl: () => "/",
    getQuery: () => undefined,
    getCaseSensitiveMethod: () => "GET",
    forEach: (callback) => {
      callback("connection", "close");
    },
  });
  const exchange = new Exchange({
    ...{ response, head, requestId: "r", address: "a", startedMs: 0, deadlineAtMs: 0 },
    onDone: none,
  });
  const stream = new StreamAnswer(exchange);
  const source = { open: () => ({ writable: none, closed: none, dropped: none }) };
  stream.start({ status: 200 }, source, { nowMs: 0, onClosed: none });
  return { stream, seen };
}

describe("a stream that ends with its connection", () => {
  it("closes a turn after its last message is taken", async () => {
    const { stream, seen } = openStream(2);
    stream.end("shutting_down");
    expect(seen.closed).toBe(false);
    await nextTurn();
    await nextTurn();
    expect(seen.closed).toBe(true);
  });

  it.each([0, 1])("waits for a reader that has not taken its last message, after %i writes", async (accepts) => {
    const { stream, seen } = openStream(accepts);
    stream.end("shutting_down");
    await nextTurn();
    await nextTurn();
    expect(seen.written).toContain("event: end\n");
    expect(seen.closed).toBe(false);
    seen.writable(0);
    await nextTurn();
    await nextTurn();
    expect(seen.closed).toBe(true);
  });
});
