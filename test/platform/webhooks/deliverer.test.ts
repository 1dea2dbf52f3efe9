/**
 * How messages are sent when something is against it: receivers that hold their answers, a store that takes no writes,
 * an end of the process in the middle. Over a real store and vault, the real egress guard and real sockets.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SealedCredentials } from "../../../src/chain/sealed-credentials.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { AppError } from "../../../src/platform/errors.js";
import { EventLog } from "../../../src/platform/events/event-log.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard, type EgressGuard } from "../../../src/platform/net/egress-guard.js";
import type { AppendFeed, Store, StoreCommit } from "../../../src/platform/store/store.js";
import { createWebhooks, type WebhookParts } from "../../../src/platform/webhooks/create-webhooks.js";
import type { SigningSecrets } from "../../../src/platform/webhooks/webhook-secrets.js";
import { recordedLog } from "../../support/silent-log.js";
import { openTestVault, type TestVault } from "../../vault/support.js";

interface Received {
  readonly path: string;
  readonly id: string;
  readonly response: ServerResponse;
}

const PAGE = { page: 1, rpp: 100 };
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

let receiver: Server;
let url: string;
let received: Received[];
/** Answers a request; does nothing to hold it. */
let respond: (request: Received) => void;
/** Called at each request. */
let onRequest: () => void;
let vault: TestVault;
let guard: EgressGuard;
let log: ReturnType<typeof recordedLog>;
let hooks: WebhookParts;
let owner: Subject;
/** Takes the place of the store's own commit. */
let commit: ((commit: StoreCommit) => Promise<void>) | undefined;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    request.resume().on("end", () => {
      const one = { path: request.url ?? "", id: String(request.headers["webhook-id"]), response };
      received.push(one);
      respond(one);
      onRequest();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}`;
});

afterAll(async () => {
  await new Promise((resolve) => receiver.close(resolve));
});

beforeEach(async () => {
  received = [];
  respond = ({ response }) => response.writeHead(204).end();
  onRequest = () => undefined;
  commit = undefined;
  guard = createEgressGuard({ allow: new AllowList([new URL(url).host]), ports: [443] });
  vault = await openTestVault({ isOnThisThread: true });
  log = recordedLog();
  owner = userOf(1);
  hooks = open();
  await hooks.start();
});

afterEach(async () => {
  await hooks.stop();
  guard.close();
  await vault.close();
});

/** A user whose id sorts by the number. */
function userOf(number: number): Subject {
  return { kind: "user", id: `${String(number).padStart(8, "0")}${randomUUID().slice(8)}` };
}

function open(): WebhookParts {
  const real = vault.store as Store & AppendFeed;
  const store: Store & AppendFeed = {
    get: (key) => real.get(key),
    range: (prefix, options) => real.range(prefix, options),
    count: (prefix) => real.count(prefix),
    commit: (given) => (commit ?? ((one: StoreCommit) => real.commit(one)))(given),
    close: () => real.close(),
    onAppend: (chain, listener) => real.onAppend(chain, listener),
  };
  return createWebhooks({
    store,
    events: new EventLog({ eventsMax: 10_000, daysMax: 30 }, { store, clock: vault.clock, log }),
    egress: guard,
    clock: vault.clock,
    log,
    secrets: new SealedCredentials<SigningSecrets>(
      { what: "webhook", gone: "webhook_secret_missing" },
      { vault: vault.vault, store },
    ),
    tellOwner: () => undefined,
    mayListen: () => true,
  });
}

const deliveries = (id: string) => hooks.service.deliveries(owner, id, PAGE).body;
const paths = (): string[] => received.map(({ path }) => path);

/** Resolves once this many requests have come. */
async function arrivals(count: number): Promise<void> {
  if (received.length >= count) return;
  await new Promise<void>((resolve) => {
    onRequest = () => {
      if (received.length >= count) resolve();
    };
  });
}

/** Makes webhooks of a user, each with waiting messages. */
async function queue(user: Subject, path: string, { webhooks, messages }: { webhooks: number; messages: number }) {
  for (let made = 0; made < webhooks; made += 1) {
    const { id } = await hooks.service.create(user, { url: `${url}${path}` });
    for (let queued = 0; queued < messages; queued += 1) await hooks.service.test(user, id);
  }
}

describe("receivers that hold their answers", () => {
  it("keep nobody else waiting for more than one of theirs", async () => {
    const held: ServerResponse[] = [];
    respond = ({ path, response }) => {
      if (path.startsWith("/held")) held.push(response);
      else response.writeHead(204).end();
    };
    for (const number of [1, 2, 3])
      await queue(userOf(number), `/held-${String(number)}`, { webhooks: 3, messages: 5 });
    await arrivals(32);
    // They took all the room, and have more to send; the last users in order have one message each.
    for (const number of [8, 9]) await queue(userOf(number), `/quick-${String(number)}`, { webhooks: 1, messages: 1 });
    expect(received).toHaveLength(32);
    for (const ended of [0, 1]) {
      held[ended]?.writeHead(204).end();
      await arrivals(33 + ended);
    }
    expect(paths().slice(32, 34).sort()).toEqual(["/quick-8", "/quick-9"]);
    respond = ({ response }) => response.writeHead(204).end();
    for (const response of held) if (!response.writableEnded) response.writeHead(204).end();
    await hooks.idle();
    expect(received).toHaveLength(3 * 3 * 5 + 2);
  });
});

describe("an answer", () => {
  it.each([
    ["is longer than is read", (response: ServerResponse) => response.writeHead(200).end("x".repeat(100_000))],
    [
      "breaks off behind its head",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-length": "10" }).write("x", () => response.destroy());
      },
    ],
  ])("counts by its status where it %s", async (_what, answer) => {
    respond = ({ response }) => answer(response);
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.test(owner, id);
    await hooks.idle();
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 200, error: null }] }]);
  });

  it.each([
    ["429 and seconds", 429, () => "600", 600 * SECOND_MS],
    ["503 and a date", 503, () => new Date(vault.clock.ms + HOUR_MS).toUTCString(), HOUR_MS],
    ["503 and a year", 503, () => String(365 * 24 * 3600), 2 * HOUR_MS],
  ])("of %s puts the next attempt off", async (_what, status, retryAfter, pauseMs) => {
    respond = ({ response }) => response.writeHead(status, { "retry-after": retryAfter() }).end();
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.test(owner, id);
    await hooks.idle();
    const dueAt = new Date(vault.clock.ms + pauseMs).toISOString();
    expect(deliveries(id)).toMatchObject([{ state: "pending", next_attempt_at: dueAt }]);
    vault.clock.ms += pauseMs - 1;
    await hooks.idle();
    expect(received).toHaveLength(1);
    vault.clock.ms += 1;
    await hooks.idle();
    expect(received).toHaveLength(2);
  });

  it.each([
    ["an error that says nothing of load", 500, "600"],
    ["a time that is over", 503, "0"],
    ["no time at all", 503, "soon"],
  ])("of %s keeps to the schedule", async (_what, status, retryAfter) => {
    respond = ({ response }) => response.writeHead(status, { "retry-after": retryAfter }).end();
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.test(owner, id);
    await hooks.idle();
    vault.clock.ms += 5 * SECOND_MS;
    await hooks.idle();
    expect(received).toHaveLength(2);
  });
});

describe("a store that takes no writes", () => {
  it("is not asked again before the next look", async () => {
    const { id } = await hooks.service.create(owner, { url });
    let asked = 0;
    commit = async () => {
      asked += 1;
      // Without an end a faulty loop would never let the test go on.
      if (asked > 50) await new Promise(() => undefined);
      throw new AppError("storage_failed", { message: "the disk failed" });
    };
    const [delivery] = await Promise.allSettled([hooks.service.test(owner, id)]);
    expect(delivery).toMatchObject({ status: "rejected", reason: { code: "storage_failed" } });
    commit = undefined;
    respond = () => undefined;
    await hooks.service.test(owner, id);
    await arrivals(1);
    asked = 0;
    commit = async () => {
      asked += 1;
      if (asked > 50) await new Promise(() => undefined);
      throw new AppError("storage_failed", { message: "the disk failed" });
    };
    // The attempt cannot be recorded, and a new one cannot begin.
    received[0]?.response.writeHead(500).end();
    vault.clock.ms += HOUR_MS;
    await hooks.idle();
    expect(asked).toBeLessThan(5);
    commit = undefined;
    respond = ({ response }) => response.writeHead(204).end();
    await hooks.idle();
    expect(deliveries(id)).toMatchObject([{ state: "delivered" }]);
  });
});

describe("a process that ends between an answer and its record", () => {
  it("is followed by one that sends the message again at once, with the same id", async () => {
    const { id } = await hooks.service.create(owner, { url });
    const ending = hooks;
    respond = ({ response }) => {
      // From here on nothing of this process reaches the store any more.
      commit = async () => {
        throw new AppError("shutting_down", { message: "the store is closed" });
      };
      response.writeHead(204).end();
    };
    await hooks.service.test(owner, id);
    await arrivals(1);
    await ending.stop();
    expect(deliveries(id)).toMatchObject([{ state: "pending", attempts: [] }]);

    commit = undefined;
    respond = ({ response }) => response.writeHead(204).end();
    hooks = open();
    await hooks.start();
    await hooks.idle();
    expect(received).toHaveLength(2);
    expect(received[1]?.id).toBe(received[0]?.id);
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 204 }] }]);
  });

  it("is followed by one that sends it once, also where the attempt's time is over", async () => {
    const { id } = await hooks.service.create(owner, { url });
    const ending = hooks;
    respond = () => {
      commit = async () => {
        throw new AppError("shutting_down", { message: "the store is closed" });
      };
    };
    await hooks.service.test(owner, id);
    await arrivals(1);
    await ending.stop();
    vault.clock.ms += 60 * SECOND_MS;
    commit = undefined;
    respond = ({ response }) => response.writeHead(204).end();
    hooks = open();
    await hooks.start();
    await hooks.idle();
    expect(received).toHaveLength(2);
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 204 }] }]);
    expect(deliveries(id)[0]).not.toHaveProperty("is_sending");
  });
});
