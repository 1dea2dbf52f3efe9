/** Webhooks over a real store, a real vault, the real egress guard, and a receiver on this machine. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SealedCredentials } from "../../../src/chain/sealed-credentials.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { EventLog } from "../../../src/platform/events/event-log.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard, type EgressGuard } from "../../../src/platform/net/egress-guard.js";
import type { AppendFeed, Store, StoreValue } from "../../../src/platform/store/store.js";
import { createWebhooks, type WebhookParts } from "../../../src/platform/webhooks/create-webhooks.js";
import { TRIES_MAX } from "../../../src/platform/webhooks/delivery-schedule.js";
import { signatureHeaders } from "../../../src/platform/webhooks/signature.js";
import type { SigningSecrets, TellOwner } from "../../../src/platform/webhooks/webhook-secrets.js";
import { eventually } from "../../support/eventually.js";
import { recordedLog } from "../../support/silent-log.js";
import { openTestVault, PHRASE, type TestVault } from "../../vault/support.js";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}

const PAGE = { page: 1, rpp: 100 };
const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

let receiver: Server;
let url: string;
let received: Received[];
/** Undefined: none comes. */
let answer: { status: number; headers?: Record<string, string> } | undefined;
let vault: TestVault;
let store: Store & AppendFeed;
let log: ReturnType<typeof recordedLog>;
let guard: EgressGuard;
let hooks: WebhookParts;
let events: EventLog;
let forbidden: Set<string>;
let mails: Parameters<TellOwner>[1][];
let owner: Subject;
let other: Subject;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      received.push({ headers: request.headers, body, path: request.url ?? "" });
      if (answer !== undefined) response.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}`;
  guard = createEgressGuard({ allow: new AllowList([new URL(url).host]), ports: [443] });
});

afterAll(async () => {
  guard.close();
  await new Promise((resolve) => receiver.close(resolve));
});

beforeEach(async () => {
  received = [];
  answer = { status: 204 };
  mails = [];
  forbidden = new Set();
  vault = await openTestVault({ isOnThisThread: true });
  store = vault.store as Store & AppendFeed;
  log = recordedLog();
  owner = { kind: "user", id: randomUUID() };
  other = { kind: "user", id: randomUUID() };
  open();
  await hooks.start();
});

afterEach(async () => {
  await hooks.stop();
  await vault.close();
});

function open(): void {
  events = new EventLog({ eventsMax: 10_000, daysMax: 30 }, { store, clock: vault.clock, log });
  hooks = createWebhooks({
    store,
    events,
    egress: guard,
    clock: vault.clock,
    log,
    secrets: new SealedCredentials<SigningSecrets>(
      { what: "webhook", gone: "webhook_secret_missing" },
      { vault: vault.vault, store },
    ),
    tellOwner: (_owner, notice) => mails.push(notice),
    mayListen: ({ id }) => !forbidden.has(id),
  });
}

async function publish(subject: string, payload: StoreValue = {}, audience: readonly Subject[] = [owner]) {
  await events.publish([{ subject, payload, audience }]);
}

/** What was received, as types. */
const types = (): string[] => received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
const deliveries = (id: string) => hooks.service.deliveries(owner, id, PAGE).body;

/** Lets time pass until the next attempt, and waits for it. */
async function passMs(ms: number): Promise<void> {
  vault.clock.ms += ms;
  await hooks.idle();
}

describe("a message", () => {
  it("says what happened and is signed", async () => {
    const { secret } = await hooks.service.create(owner, { url: `${url}/in?a=b` });
    await publish("privacy.prover.setup.failed", { prover_id: "p", errors: [{ code: "c", message: "m" }] });
    await hooks.idle();
    const [{ headers, body, path } = { headers: {}, body: "", path: "" }] = received;
    expect(path).toBe("/in?a=b");
    expect(headers["content-type"]).toBe("application/json");
    expect(JSON.parse(body)).toEqual({
      type: "prover.failed",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: {
        id: 1,
        subject: "privacy.prover.setup.failed",
        payload: { prover_id: "p", errors: [{ code: "c", message: "m" }] },
      },
    });
    const id = String(headers["webhook-id"]);
    expect(headers).toMatchObject(signatureHeaders({ id, timestampSec: vault.clock.ms / 1000, body }, [secret]));
  });

  it("goes to webhooks whose filters fit, of its audience, from their creation on", async () => {
    await publish("privacy.prover.setup.pending");
    await hooks.service.create(owner, { url: `${url}/types`, types: ["prover.*"] });
    await hooks.service.create(owner, { url: `${url}/subjects`, subjects: ["network.a.>"] });
    await hooks.service.create(other, { url: `${url}/other` });
    await publish("privacy.prover.setup.complete");
    await publish("network.a.transactions.t", { state: "mined" });
    await publish("network.b.transactions.t", { state: "mined" });
    await hooks.idle();
    expect(received.map(({ path }) => path).sort()).toEqual(["/subjects", "/types"]);
    expect(types().sort()).toEqual(["prover.provisioned", "transaction.mined"]);
  });

  it("is not made of events for everyone", async () => {
    await hooks.service.create(owner, { url });
    await events.publish([{ subject: "network.a.status", payload: {}, audience: "everyone" }]);
    await hooks.idle();
    expect(received).toEqual([]);
  });

  it("is queued once, also by the next process, and sent when the one before could not", async () => {
    const { id } = await hooks.service.create(owner, { url });
    await hooks.stop();
    await publish("privacy.prover.setup.complete");
    open();
    await hooks.start();
    await hooks.idle();
    await hooks.stop();
    open();
    await hooks.start();
    await hooks.idle();
    expect(types()).toEqual(["prover.provisioned"]);
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 204, error: null }] }]);
  });

  it("is due at once where an attempt was cut off, for the next node or this one again", async () => {
    const { id } = await hooks.service.create(owner, { url });
    answer = undefined;
    await publish("privacy.prover.setup.complete");
    await eventually(() => {
      expect(received).toHaveLength(1);
    });
    await hooks.stop();
    expect(deliveries(id)).toMatchObject([{ state: "pending", attempts: [] }]);
    answer = { status: 204 };
    await hooks.start();
    await hooks.idle();
    expect(types()).toEqual(["prover.provisioned", "prover.provisioned"]);
    expect(received[1]?.headers["webhook-id"]).toBe(received[0]?.headers["webhook-id"]);
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 204 }] }]);
  });

  it("waits while the vault is sealed", async () => {
    const { id } = await hooks.service.create(owner, { url });
    await vault.seal.seal(Buffer.from(PHRASE));
    await publish("privacy.prover.setup.complete");
    await hooks.idle();
    expect(received).toEqual([]);
    expect(deliveries(id)).toMatchObject([{ state: "pending", attempts: [] }]);
    await vault.seal.unseal(Buffer.from(PHRASE));
    hooks.wake();
    await hooks.idle();
    expect(types()).toEqual(["prover.provisioned"]);
  });
});

describe("a message that is not taken", () => {
  it("is sent again with the same id and a new time, until it is", async () => {
    const { id, secret } = await hooks.service.create(owner, { url });
    answer = { status: 500 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    expect(deliveries(id)).toMatchObject([{ state: "pending", attempts: [{ status: 500 }] }]);
    await passMs(4_000);
    expect(received).toHaveLength(1);
    answer = { status: 200 };
    await passMs(1_000);
    const [first, second] = received;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers["webhook-timestamp"]).not.toBe(first?.headers["webhook-timestamp"]);
    const message = {
      id: String(second?.headers["webhook-id"]),
      timestampSec: vault.clock.ms / 1000,
      body: second?.body ?? "",
    };
    expect(second?.headers).toMatchObject(signatureHeaders(message, [secret]));
    expect(deliveries(id)).toMatchObject([{ state: "delivered", attempts: [{ status: 500 }, { status: 200 }] }]);
  });

  it("follows no redirect, and what the receiver answers is not kept", async () => {
    const { id } = await hooks.service.create(owner, { url });
    answer = { status: 302, headers: { location: `${url}/elsewhere` } };
    await hooks.service.test(owner, id);
    await hooks.idle();
    expect(received.map(({ path }) => path)).toEqual(["/"]);
    expect(deliveries(id)).toMatchObject([{ attempts: [{ status: 302, error: { code: "webhook_refused" } }] }]);
    expect(JSON.stringify(deliveries(id))).not.toContain("elsewhere");
  });

  it("ends the webhook after three days, with an event and a mail", async () => {
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.create(owner, { url: `${url}/alarm`, types: ["webhook.disabled"] });
    answer = { status: 503 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    for (let tries = 1; tries < TRIES_MAX; tries += 1) await passMs(DAY_MS);
    expect(received.filter(({ path }) => path === "/")).toHaveLength(TRIES_MAX);
    expect(deliveries(id)).toMatchObject([{ state: "failed", next_attempt_at: null }]);
    expect(hooks.service.get(owner, id)).toMatchObject({
      enabled: false,
      disabled_reason: { code: "webhook_failing" },
    });
    expect(mails).toEqual([{ id, url, reason: expect.stringContaining("503") as string }]);
    expect(types().at(-1)).toBe("webhook.disabled");
    await expect(hooks.service.test(owner, id)).rejects.toMatchObject({ code: "webhook_disabled" });
  });

  it("does not end a webhook at which others arrived meanwhile", async () => {
    const { id } = await hooks.service.create(owner, { url });
    answer = { status: 503 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    for (let tries = 2; tries < TRIES_MAX; tries += 1) await passMs(DAY_MS);
    answer = { status: 200 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    answer = { status: 503 };
    await passMs(DAY_MS);
    expect(
      deliveries(id)
        .map(({ state }) => state)
        .sort(),
    ).toEqual(["delivered", "failed"]);
    expect(hooks.service.get(owner, id).enabled).toBe(true);
  });

  it("ends the webhook of an owner who may no longer hear events, and of nobody else", async () => {
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.create(other, { url: `${url}/other` });
    forbidden.add(owner.id);
    await publish("provers.a.status", { secret: "of nobody's concern" }, [owner, other]);
    await hooks.idle();
    expect(received.map(({ path }) => path)).toEqual(["/other"]);
    expect(deliveries(id)).toEqual([]);
    expect(hooks.service.get(owner, id)).toMatchObject({
      enabled: false,
      disabled_reason: { code: "webhook_not_permitted" },
    });
    expect(mails).toMatchObject([{ id, reason: expect.stringContaining("`subscribe`") as string }]);
  });

  it("ends the webhook at once when the receiver says that it is gone", async () => {
    const { id } = await hooks.service.create(owner, { url });
    answer = { status: 410 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    expect(received).toHaveLength(1);
    expect(hooks.service.get(owner, id)).toMatchObject({ enabled: false, disabled_reason: { code: "webhook_gone" } });
    answer = { status: 200 };
    await hooks.service.update(owner, id, { enabled: true });
    const [{ id: deliveryId } = { id: "" }] = deliveries(id);
    await hooks.service.redeliver(owner, id, deliveryId);
    await hooks.idle();
    expect(deliveries(id)).toMatchObject([{ id: deliveryId, state: "delivered" }]);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });
});

describe("addresses", () => {
  it.each(["http://10.0.0.1/", "https://169.254.169.254/latest", "https://localhost/", "ftp://example.com/", "x"])(
    "%s is refused",
    async (address) => {
      await expect(hooks.service.create(owner, { url: address })).rejects.toMatchObject({ code: "egress_refused" });
      const { id } = await hooks.service.create(owner, { url });
      await expect(hooks.service.update(owner, id, { url: address })).rejects.toMatchObject({ code: "egress_refused" });
    },
  );
});

describe("secrets", () => {
  it("sign together for a day after a rotation", async () => {
    const { id: webhookId, secret: first } = await hooks.service.create(owner, { url });
    const { secret: second } = await hooks.service.rotate(owner, webhookId);
    for (const [pauseMs, secrets] of [
      [0, [second, first]],
      [24 * HOUR_MS, [second]],
    ] as const) {
      vault.clock.ms += pauseMs;
      await hooks.service.test(owner, webhookId);
      await hooks.idle();
      const last = received.at(-1);
      const id = String(last?.headers["webhook-id"]);
      const message = { id, timestampSec: vault.clock.ms / 1000, body: last?.body ?? "" };
      expect(last?.headers).toMatchObject(signatureHeaders(message, secrets));
    }
  });

  it("are nowhere in the store, in answers or in the log", async () => {
    const { id, secret } = await hooks.service.create(owner, { url });
    answer = { status: 500 };
    await hooks.service.test(owner, id);
    await hooks.idle();
    const key = secret.slice("whsec_".length);
    const kept = JSON.stringify(store.range([]).map(({ value }) => value));
    expect(kept).toContain(id);
    for (const text of [kept, JSON.stringify(log.lines), JSON.stringify(hooks.service.get(owner, id))])
      expect(text).not.toContain(key);
  });

  it("that were deleted from the vault end the webhook, until a rotation", async () => {
    const { id } = await hooks.service.create(owner, { url });
    const [made] = vault.vault.listVaults(owner, PAGE).body;
    await vault.vault.deleteVault(owner, made?.id ?? "");
    await hooks.service.test(owner, id);
    await hooks.idle();
    expect(hooks.service.get(owner, id).disabled_reason).toMatchObject({ code: "webhook_secret_missing" });
    await hooks.service.rotate(owner, id);
    await hooks.service.update(owner, id, { enabled: true });
    await hooks.idle();
    expect(types()).toEqual(["webhook.test"]);
  });
});

describe("owners", () => {
  it("do not find each other's webhooks and deliveries", async () => {
    const { id } = await hooks.service.create(owner, { url });
    const delivery = await hooks.service.test(owner, id);
    await hooks.idle();
    const calls = [
      () => hooks.service.get(other, id),
      () => hooks.service.deliveries(other, id, PAGE),
      () => hooks.service.delivery(other, id, delivery.id),
      async () => await hooks.service.update(other, id, { name: "x" }),
      async () => await hooks.service.rotate(other, id),
      async () => await hooks.service.test(other, id),
      async () => await hooks.service.redeliver(other, id, delivery.id),
      async () => await hooks.service.delete(other, id),
    ];
    for (const call of calls) await expect(async () => await call()).rejects.toMatchObject({ code: "not_found" });
    expect(hooks.service.list(other, PAGE)).toEqual({ body: [], total: 0 });
  });

  it("have at most 20 webhooks", async () => {
    for (let made = 0; made < 20; made += 1) await hooks.service.create(owner, { url });
    await expect(hooks.service.create(owner, { url })).rejects.toMatchObject({ code: "webhook_limit_reached" });
    await hooks.service.create(other, { url });
  });

  it("leave nothing behind when a webhook or its owner is deleted", async () => {
    const { id } = await hooks.service.create(owner, { url });
    await hooks.service.create(owner, { url });
    await publish("privacy.prover.setup.complete");
    await hooks.idle();
    await hooks.service.delete(owner, id);
    expect(hooks.service.list(owner, PAGE).total).toBe(1);
    await hooks.purge(owner);
    const names = store.range([]).map(({ key }) => String(key[0]));
    expect(names.filter((name) => /^webhook(_delivery|_success)?([#!]|$)/.test(name))).toEqual([]);
  });
});
