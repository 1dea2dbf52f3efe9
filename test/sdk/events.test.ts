/** Streams of events: how they are read, and how they go on after an interruption. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Proofwright } from "../../src/sdk/proofwright.js";
import type { ServerEvent } from "../../src/sdk/events.js";

let asked: URL[];
beforeEach(() => {
  asked = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const message = (id: number, type?: string): string =>
  `id: ${String(id)}\n${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(
    type === undefined ? { id, subject: "prover.x", created_at: "now", payload: { n: id } } : { id, type },
  )}\n\n`;
const end = (reason: string): string => `event: end\ndata: ${JSON.stringify({ type: "end", reason })}\n\n`;

/** Answers each connection with its pieces of text; a connection without any is refused. */
function client(connections: (readonly string[] | Response)[], token: string | (() => string) = "t"): Proofwright {
  return new Proofwright({
    baseUrl: "http://host",
    token,
    fetch: async (url) => {
      asked.push(new URL(url));
      const pieces = connections.shift();
      if (pieces === undefined) throw new TypeError("fetch failed");
      if (pieces instanceof Response) return pieces;
      const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
      return new Response(
        new ReadableStream({
          pull: (controller) => {
            const next = bytes.shift();
            if (next === undefined) controller.close();
            else controller.enqueue(next);
          },
        }),
      );
    },
  });
}

async function take(stream: AsyncIterable<ServerEvent>, count: number): Promise<number[]> {
  const ids: number[] = [];
  const reading = (async () => {
    for await (const { id } of stream) {
      ids.push(id);
      if (ids.length === count) return;
    }
  })();
  const settled = reading.then(
    () => undefined,
    (error: unknown) => error,
  );
  await vi.runAllTimersAsync();
  const error = await settled;
  if (error !== undefined) throw error as Error;
  return ids;
}

describe("a stream of events", () => {
  it("yields what comes, wherever the pieces are cut", async () => {
    const text = message(3, "ready") + message(4) + message(5, "heartbeat") + message(6);
    const pieces = Array.from({ length: Math.ceil(text.length / 7) }, (_, i) => text.slice(7 * i, 7 * i + 7));
    expect(await take(client([pieces]).events.stream({ subject: ["prover.>", "a.*"] }), 2)).toEqual([4, 6]);
    expect(asked.map(String)).toEqual(["http://host/api/v1/events?subject=prover.%3E&subject=a.*"]);
  });

  it("goes on behind the last event, or the last heartbeat", async () => {
    const found = client([[message(4)], [message(9, "heartbeat"), end("shutting_down")], [message(10)]]);
    expect(await take(found.events.stream({ lastEventId: 2 }), 2)).toEqual([4, 10]);
    expect(asked.map(({ searchParams }) => searchParams.get("last_event_id"))).toEqual(["2", "4", "9"]);
  });

  it("tells of gaps", async () => {
    const onGap = vi.fn();
    expect(await take(client([[message(7, "gap"), message(8)]]).events.stream({ lastEventId: 1, onGap }), 1)).toEqual([
      8,
    ]);
    expect(onGap.mock.calls).toEqual([[7]]);
  });

  it("ends when the token does, unless there will be another one", async () => {
    const ended = (): string[] => [message(4), end("token_expired")];
    await expect(take(client([ended()]).events.stream(), 2)).rejects.toMatchObject({
      name: "StreamEndedError",
      code: "token_expired",
      lastEventId: 4,
    });
    expect(await take(client([ended(), [message(5)]], () => "fresh").events.stream(), 2)).toEqual([4, 5]);
  });

  it("ends when it is refused", async () => {
    const refusal = Response.json({ message: "no", errors: [{ message: "no", code: "forbidden" }] }, { status: 403 });
    await expect(take(client([refusal]).events.stream(), 1)).rejects.toMatchObject({ code: "forbidden" });
    expect(asked).toHaveLength(1);
  });

  it("ends when the caller gives up while it is interrupted", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(take(client([]).events.stream({ signal }), 1)).rejects.toThrow("enough");
  });
});
