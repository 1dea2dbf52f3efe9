/** Streams that go on at a node which stands elsewhere in the log than the one before. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import type { StreamMessage, StreamSink } from "../../../src/platform/contract/stream.js";
import { EventBus } from "../../../src/platform/events/event-bus.js";
import { eventHandlers } from "../../../src/platform/events/event-handlers.js";
import { eventually } from "../../support/eventually.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";

const OPTIONS = { eventsMax: 1000, daysMax: 1, streamsMax: 9, streamsPerSubjectMax: 9, streamsPerTokenMax: 9 };
const ADA: Subject = { kind: "user", id: randomUUID() };
const PRINCIPAL: Principal = {
  ...{ subject: ADA, permissions: 0, tokenId: randomUUID(), sessionId: randomUUID() },
  expiresAtSec: 4_000_000_000,
};

let store: MemoryStore;
let bus: EventBus;
/** What happens when the node catches up with the others. */
let onConfirm: () => Promise<void>;
beforeEach(() => {
  store = new MemoryStore();
  onConfirm = () => Promise.resolve();
  bus = new EventBus(OPTIONS, { store, clock: systemClock, log: recordedLog(), confirm: () => onConfirm() });
  bus.start();
});
afterEach(async () => {
  await bus.stop();
});

async function publish(...subjects: string[]): Promise<void> {
  await bus.publish(subjects.map((subject) => ({ subject, payload: subject, audience: [ADA] })));
}

class Reader implements StreamSink {
  readonly channel = undefined;
  readonly messages: StreamMessage[] = [];

  send(message: StreamMessage): boolean {
    this.messages.push(message);
    return true;
  }

  join(): void {
    throw new Error("it has no channel");
  }

  leave(): void {
    throw new Error("it has no channel");
  }

  end(): void {
    // Nothing is kept.
  }

  names(): string[] {
    return this.messages.map(({ type }) => type ?? "event");
  }

  ids(): number[] {
    return this.messages.filter(({ type }) => type === undefined).map(({ id }) => id);
  }
}

it("repeats no event that the log has and that was not passed on yet, and loses none after it", async () => {
  const [ahead, behind, between] = [new Reader(), new Reader(), new Reader()];
  bus.listen(PRINCIPAL, { subjects: undefined, lastEventId: undefined }).open(new Reader());
  await publish("a", "b", "c");
  // In the turn of the commit: none of the three was passed on.
  expect(bus.log.head()).toBe(3);
  for (const [reader, lastEventId] of [
    [ahead, 3],
    [between, 2],
    [behind, 0],
  ] as const)
    bus.listen(PRINCIPAL, { subjects: undefined, lastEventId }).open(reader);
  await publish("d");
  await eventually(() => {
    expect([ahead, between, behind].map((reader) => reader.ids())).toEqual([[4], [3, 4], [1, 2, 3, 4]]);
  });
  await publish("e");
  await eventually(() => {
    expect([ahead, between, behind].map((reader) => reader.ids().at(-1))).toEqual([5, 5, 5]);
  });
  expect(ahead.ids()).toEqual([4, 5]);
});

it("asks what others have before it calls an id unknown", async () => {
  const handlers = eventHandlers({ events: bus });
  const open = async (lastEventId: string): Promise<Reader> => {
    const reader = new Reader();
    const { stream } = (await handlers.streamEvents({
      ...{ principal: PRINCIPAL, query: {}, params: {}, lastEventId, signal: new AbortController().signal },
    } as unknown as Parameters<typeof handlers.streamEvents>[0])) as { stream: { open(sink: StreamSink): unknown } };
    stream.open(reader);
    return reader;
  };
  await publish("a");
  onConfirm = () => publish("b");
  const told = await open("2");
  expect(told.names()).toEqual(["ready"]);
  await publish("c");
  await eventually(() => {
    expect(told.ids()).toEqual([3]);
  });
  onConfirm = () => Promise.resolve();
  expect((await open("9")).names()).toEqual(["ready", "gap"]);
  onConfirm = () => Promise.reject(new Error("away"));
  expect((await open("3")).names()).toEqual(["ready"]);
  await expect(open("9")).rejects.toThrow("away");
});
