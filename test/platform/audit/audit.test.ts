// The audit log: what is recorded when, that it fails closed, and that every change to it shows.
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import type { AuditEvent } from "../../../src/platform/audit/audit-event.js";
import { auditedRoutes, AUDIT_MODES, auditModeOf } from "../../../src/platform/audit/audited-routes.js";
import { createAudit, type Audit } from "../../../src/platform/audit/create-audit.js";
import { verifyAudit, type AuditVerdict } from "../../../src/platform/audit/verify-audit.js";
import { auditLines } from "../../../src/platform/audit/audit-log.js";
import { systemClock } from "../../../src/platform/clock.js";
import type { BoundRoute, RouteSpec } from "../../../src/platform/contract/route.js";
import { AppError } from "../../../src/platform/errors.js";
import { createLog } from "../../../src/platform/log.js";
import type { ChainRecord } from "../../../src/platform/store/chain.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import type { Store, StoreCommit } from "../../../src/platform/store/store.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const log = createLog("silent");
const KEY = randomBytes(32);
const SUBJECT = { kind: "user", id: "55555555-5555-4555-8555-555555555555" } as const;
const ID = "66666666-6666-4666-8666-666666666666";
let folder: string;
let store: DurableStore;
let audit: Audit;
let failing: ((commit: StoreCommit) => boolean) | undefined;
let failure: ConstructorParameters<typeof AppError>;
let sealed: number;

const open = async (key: Uint8Array): Promise<void> => {
  store = await openStore({ path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20, chainKey: key }, { log });
  const guarded: Store = {
    get: (at) => store.get(at),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: async () => {
      await store.close();
    },
    commit: async (commit) => {
      if (failing?.(commit) === true) throw new AppError(...failure);
      await store.commit(commit);
    },
  };
  audit = await createAudit(
    { key },
    {
      store: guarded,
      clock: systemClock,
      log,
      onUnwritable: () => {
        sealed += 1;
      },
    },
  );
};

beforeEach(async () => {
  folder = newFolder("audit");
  failing = undefined;
  failure = ["storage_full", { message: "full" }];
  sealed = 0;
  await open(KEY);
});
afterEach(async () => {
  await store.close();
  removeFolder(folder);
});

function events(): AuditEvent[] {
  return store
    .range<ChainRecord>(["audit"])
    .map(({ value }) => value.event as AuditEvent)
    .filter(({ action }) => action !== "audit.started");
}

/** A route and its handler as the server would bind them, called with a body. */
async function call(route: Partial<RouteSpec>, handler: () => unknown, body?: unknown): Promise<unknown> {
  const bound = {
    route: {
      id: "createKey",
      area: "vault",
      method: "POST",
      path: "/x",
      summary: "",
      auth: "public",
      responses: {},
      ...route,
    },
    handler,
  } as unknown as BoundRoute;
  const [wrapped] = auditedRoutes([bound], { trail: audit.trail, audit: audit.log });
  const request = {
    params: { id: ID },
    body,
    principal: { subject: SUBJECT, permissions: 0, tokenId: "t", sessionId: "s", expiresAtSec: 0 },
    requestId: "r",
    address: "192.0.2.1",
  };
  return await wrapped!.handler(request as never);
}

const putKey = async (): Promise<{ status: number }> => {
  await audit.vaultStore.commit({
    puts: [
      { key: ["key", ID, ID], value: { name: "do not log" } },
      { key: ["key#vault", ID, "x"], value: 1 },
    ],
  });
  return { status: 201 };
};

describe("records", () => {
  it("are written in the commit of the change, once, with ids and hashes but no name", async () => {
    let commits = 0;
    failing = () => {
      commits += 1;
      return false;
    };
    await call({}, putKey, { name: "do not log" });
    expect(commits).toBe(1);
    const [event, ...rest] = events();
    expect(rest).toEqual([]);
    expect(event).toEqual({
      at: expect.any(String) as string,
      action: "createKey",
      outcome: "ok",
      subject: `user:${SUBJECT.id}`,
      session_id: "s",
      request_id: "r",
      address: "192.0.2.1",
      target: { id: ID },
      names: { name: audit.log.hashName("Do Not Log") },
      objects: [`put key/${ID}/${ID}`],
    });
    expect(JSON.stringify(event)).not.toContain("do not log");
  });

  it("are written before the answer of a route that commits nothing, also for refusals", async () => {
    await call(
      { id: "decrypt" },
      () => {
        expect(events()).toEqual([]);
        return { status: 200 };
      },
      { batch: [1, 2, 3] },
    );
    expect(events()).toMatchObject([{ action: "decrypt", outcome: "ok", count: 3 }]);
    await expect(
      call({ id: "decrypt" }, () => {
        throw new AppError("decryption_failed", { message: "no" });
      }),
    ).rejects.toMatchObject({ code: "decryption_failed" });
    await expect(
      call({ id: "decrypt" }, () => {
        throw new Error("the secret is plum");
      }),
    ).rejects.toThrow("plum");
    expect(events().slice(1)).toMatchObject([
      { action: "decrypt", outcome: "refused", code: "decryption_failed" },
      { action: "decrypt", outcome: "refused", code: "internal_error" },
    ]);
    expect(JSON.stringify(events())).not.toContain("plum");
  });

  it("name no subject while it is unknown, and the user of a login once the session is created", async () => {
    await audit.trail.run({ action: "authenticate" }, "durable", {
      work: async () => {
        await audit.identityStore.commit({ puts: [{ key: ["login_throttle", "account", "hash"], value: 1 }] });
        await audit.identityStore.commit({ puts: [{ key: ["session", "user", SUBJECT.id, ID], value: 1 }] });
      },
    });
    expect(events()).toMatchObject([
      {
        action: "authenticate",
        outcome: "ok",
        subject: `user:${SUBJECT.id}`,
        objects: [`put session/user/${SUBJECT.id}/${ID}`],
      },
    ]);
  });

  it("are written for commits of the service itself, with texts in keys hashed", async () => {
    await audit.identityStore.commit({
      puts: [{ key: ["invitation", "ada@example.com"], value: 1 }],
      deletes: [["user", ID]],
    });
    expect(events()).toMatchObject([
      {
        action: "service.commit",
        objects: [`put invitation/~${audit.log.hashName("ada@example.com")}`, `delete user/${ID}`],
      },
    ]);
    await audit.vaultStore.commit({ puts: [{ key: ["prover", ID], value: 1 }] });
    expect(events().length).toBe(1);
  });

  it("name what a request makes, and not the answer that it keeps with it", async () => {
    const kept = { key: ["idempotency", `user:${SUBJECT.id}`, "createOrganization", "key"], value: 1 };
    await audit.identityStore.commit({ puts: [{ key: ["organization", ID], value: 1 }, kept] });
    expect(events()).toMatchObject([{ objects: [`put organization/${ID}`] }]);
  });

  it("are the service's own for work that a request left running, whether other requests are open or not", async () => {
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let leftBehind = Promise.resolve();
    await call({ id: "createKey" }, () => {
      leftBehind = gate.then(async () => {
        await putKey();
      });
      return { status: 201 };
    });
    await call({ id: "createSecret" }, async () => {
      goOn();
      await leftBehind;
      return putKey();
    });
    expect(events().map(({ action }) => action)).toEqual(["createKey", "service.commit", "createSecret"]);
  });

  it("name the node of a cluster that wrote them, and none of a single server", async () => {
    const parts = { store, clock: systemClock, log, onUnwritable: () => undefined };
    const [first, second] = [
      await createAudit({ key: KEY, node: "first" }, parts),
      await createAudit({ key: KEY, node: "second" }, parts),
    ];
    await first.log.append({ action: "a", outcome: "ok" });
    await second.log.append({ action: "b", outcome: "ok" });
    await audit.log.append({ action: "c", outcome: "ok" });
    const { entries } = audit.log.list({ page: 1, rpp: 3 });
    expect(entries.map(({ action, node }) => [action, node])).toEqual([
      ["c", undefined],
      ["b", "second"],
      ["a", "first"],
    ]);
    expect(verifyAudit(store, [KEY])).toMatchObject({ sound: true });
  });

  it("are in order under parallel requests, each with its own scope", async () => {
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => await call({ id: `op${String(index)}` }, putKey)),
    );
    expect(new Set(events().map(({ action }) => action)).size).toBe(100);
    expect(verifyAudit(store, [KEY])).toMatchObject({ sound: true, records: 101 });
    expect(audit.log.list({ page: 1, rpp: 25 }, `user:${SUBJECT.id}`)).toMatchObject({ total: 100 });
    expect(audit.log.list({ page: 4, rpp: 25 }, `user:${SUBJECT.id}`).entries.at(-1)?.number).toBe(2);
    expect(audit.log.list({ page: 1, rpp: 25 }, "user:other").entries).toEqual([]);
    expect(audit.log.list({ page: 1, rpp: 25 }).entries[0]?.number).toBe(101);
  });
});

describe("a log that cannot be written", () => {
  it("refuses requests that reveal or change something, wipes the answer, and seals after three failures", async () => {
    failing = (commit) => (commit.appends ?? []).length > 0;
    const bytes = Buffer.from("secret");
    for (let i = 0; i < 3; i += 1) {
      expect(sealed).toBe(0);
      await expect(call({ id: "createUnsealerKey" }, () => ({ status: 201, bytes }))).rejects.toMatchObject({
        code: "audit_unavailable",
        status: 503,
      });
    }
    expect(sealed).toBe(1);
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    await expect(call({}, putKey)).rejects.toMatchObject({ code: "audit_unavailable" });
    expect(store.get(["key", ID, ID])).toBeUndefined();
    failing = undefined;
    await call({}, putKey);
    expect(verifyAudit(store, [KEY]).sound).toBe(true);
  });

  it("does not delay the answer of a deferred record, but counts the failure", async () => {
    failing = (commit) => (commit.appends ?? []).length > 0;
    for (let i = 0; i < 3; i += 1)
      expect(await call({ id: "encrypt" }, () => ({ status: 200 }))).toEqual({ status: 200 });
    await expect.poll(() => sealed).toBe(1);
  });

  it.each(["overloaded", "store_unreachable", "outcome_unknown"] as const)(
    "refuses requests and seals nothing while the store answers %s",
    async (code) => {
      failing = (commit) => (commit.appends ?? []).length > 0;
      failure = [code, { message: "later" }];
      for (let i = 0; i < 5; i += 1)
        await expect(call({ id: "createUnsealerKey" }, () => ({ status: 201 }))).rejects.toMatchObject({ code });
      expect(sealed).toBe(0);
    },
  );

  it("resets the count of failures once a record is written", async () => {
    for (const fails of [true, true, false, true, true]) {
      failing = () => fails;
      await call({ id: "decrypt" }, () => ({ status: 200 })).catch(() => undefined);
    }
    expect(sealed).toBe(0);
  });
});

describe("verification", () => {
  const COUNT = 2500;
  beforeEach(async () => {
    await Promise.all(
      Array.from({ length: COUNT - 1 }, async (_, index) => {
        await audit.log.append({ action: `a${String(index)}`, outcome: "ok" }).catch(() => undefined);
      }),
    );
  });

  /** Changes the store as somebody without the key would, and answers what is found. */
  async function after(change: StoreCommit): Promise<AuditVerdict> {
    await store.commit(change);
    return verifyAudit(store, [KEY]);
  }

  it("finds the first record that was changed, removed, moved or inserted", async () => {
    const total = store.count(["audit"]);
    const head = verifyAudit(store, [KEY]);
    expect(head).toMatchObject({ sound: true, records: total });
    const at = (number: number) => store.get<ChainRecord>(["audit", number])!.value;
    const original = at(700);
    expect(
      await after({
        puts: [
          { key: ["audit", 700], value: { ...original, event: { ...(original.event as object), outcome: "refused" } } },
        ],
      }),
    ).toMatchObject({ sound: false, brokenAt: 700 });
    expect(await after({ puts: [{ key: ["audit", 700], value: at(701) }] })).toMatchObject({
      sound: false,
      brokenAt: 700,
    });
    expect(await after({ deletes: [["audit", 700]] })).toMatchObject({
      sound: false,
      brokenAt: 700,
      reason: "record 700 is missing",
    });
    expect(await after({ puts: [{ key: ["audit", 700], value: original }] })).toEqual(head);
    expect(
      await after({
        puts: [{ key: ["audit", total + 1], value: { mac: "00".repeat(32), event: { action: "forged" } } }],
      }),
    ).toMatchObject({ sound: false, brokenAt: total + 1 });
    expect(
      await after({
        deletes: [
          ["audit", total + 1],
          ["audit", total],
        ],
      }),
    ).toMatchObject({ sound: false, brokenAt: total, reason: /cut off/ });
  });

  it("detects a rolled-back end by an anchor", async () => {
    const total = store.count(["audit"]);
    const anchor = { number: total, mac: store.get<ChainRecord>(["audit", total])!.value.mac };
    expect(verifyAudit(store, [KEY], anchor).sound).toBe(true);
    const earlier = store.get<ChainRecord>(["audit", total - 1])!.value;
    await store.commit({
      deletes: [["audit", total]],
      puts: [{ key: ["audit#head"], value: { number: total - 1, mac: earlier.mac, key_id: "x" } }],
    });
    expect(verifyAudit(store, [KEY]).sound).toBe(true);
    expect(verifyAudit(store, [KEY], anchor)).toMatchObject({
      sound: false,
      brokenAt: total,
      reason: /ends before the anchor/,
    });
    expect(verifyAudit(store, [KEY], { number: 5, mac: "00".repeat(32) })).toMatchObject({ sound: false, brokenAt: 5 });
  });

  it("accepts a change of the key only with both keys", async () => {
    const total = store.count(["audit"]);
    await store.close();
    const second = randomBytes(32);
    await open(second);
    await audit.log.append({ action: "later", outcome: "ok" });
    expect(verifyAudit(store, [KEY, second])).toMatchObject({ sound: true, records: total + 2 });
    expect(verifyAudit(store, [KEY])).toMatchObject({ sound: false, brokenAt: total + 1, reason: /another key/ });
    expect(verifyAudit(store, [second])).toMatchObject({ sound: false, brokenAt: 1 });
  });

  it("finds every record once in the exports", () => {
    const lines: { number: number }[] = [];
    for (let number = 0; ; number = lines.at(-1)!.number) {
      const page = auditLines(store, number, 999)
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { number: number });
      if (page.length === 0) break;
      lines.push(...page);
    }
    expect(lines.map(({ number }) => number)).toEqual(
      Array.from({ length: store.count(["audit"]) }, (_, index) => index + 1),
    );
  });
});

describe("routes", () => {
  it("that change something in vault and identity, or reveal a secret, are recorded before they are answered", () => {
    const lax = ROUTE_LIST.filter(
      (route) =>
        (route.area === "vault" || route.area === "identity") &&
        route.method !== "GET" &&
        auditModeOf(route) !== "durable",
    ).map(({ id }) => id);
    // Whoever adds an exception adds it here too.
    expect(lax.sort()).toEqual([
      "blsAggregate",
      "blsVerify",
      "encrypt",
      "introspectToken",
      "verifyDetached",
      "verifySignature",
      "verifyWithOrganizationVaultKey",
    ]);
    for (const id of [
      "getSecret",
      "decrypt",
      "createUnsealerKey",
      "unseal",
      "seal",
      "deleteVault",
      "authenticate",
      "createUser",
    ]) {
      const route = ROUTE_LIST.find((candidate) => candidate.id === id);
      expect(route === undefined ? id : auditModeOf(route), id).toBe("durable");
    }
    expect(Object.keys(AUDIT_MODES).filter((id) => !ROUTE_LIST.some((route) => route.id === id))).toEqual([]);
  });
});
