// The audit log over HTTP: whose events a caller sees, page by page and as lines; and what the front turns away,
// without a way to flood it.
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditHandlers } from "../../../src/platform/audit/audit-handlers.js";
import { auditRoutes } from "../../../src/platform/audit/audit-routes.js";
import { vaultRoutes } from "../../../src/vault/routes.js";
import { createAudit, type Audit } from "../../../src/platform/audit/create-audit.js";
import { REFUSALS_COUNTED } from "../../../src/platform/audit/refusals.js";
import { permissionBits, type PermissionName } from "../../../src/platform/auth/permissions.js";
import type { Principal } from "../../../src/platform/auth/principal.js";
import type { Clock } from "../../../src/platform/clock.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { AppError } from "../../../src/platform/errors.js";
import { createServer, type Server } from "../../../src/platform/http/server.js";
import { testDriver } from "../../support/http-driver.js";
import { createLog } from "../../../src/platform/log.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const log = createLog("silent");
let nowMs = Date.UTC(2026, 0, 1);
const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
const folder = newFolder("audit-http");
const principals = new Map<string, Principal>();
let store: DurableStore;
let audit: Audit;
let server: Server;
let base: string;

beforeAll(async () => {
  const key = randomBytes(32);
  store = await openStore({ path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20, chainKey: key }, { log });
  audit = await createAudit({ key }, { store, clock, log, onUnwritable: () => undefined });
  const authenticate = (token: string): Principal => {
    const principal = principals.get(token);
    if (principal === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    return principal;
  };
  const { createVault, getSealStatus } = vaultRoutes;
  const handlers = {
    createVault: () => {
      throw new Error("sealed before");
    },
    getSealStatus: () => ({
      status: 200 as const,
      body: { sealed: true, provider: "environment", initialised: false },
    }),
  } as const;
  server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: [
        ...bindRoutes(auditRoutes, auditHandlers({ audit: audit.log })),
        ...bindRoutes({ createVault, getSealStatus }, handlers),
      ],
      authenticate,
      isUnsealed: () => false,
      log,
      clock,
      onRefused: (refusal) => {
        audit.refusals.note(refusal);
      },
    },
  );
  base = `http://127.0.0.1:${(await server.listen()).port}`;
});
afterAll(async () => {
  await server.stop({ graceMs: 0 });
  audit.refusals.flush();
  await store.close();
  removeFolder(folder);
});
beforeEach(() => {
  nowMs += 3_600_000;
});

function user(...names: PermissionName[]): { token: string; subject: string } {
  const id = randomUUID();
  principals.set(id, {
    subject: { kind: "user", id },
    permissions: permissionBits(names),
    tokenId: id,
    sessionId: id,
    expiresAtSec: 2 ** 40,
  });
  return { token: id, subject: `user:${id}` };
}

async function send(method: string, path: string, token?: string): Promise<Response> {
  return await fetch(`${base}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
    },
    ...(method === "POST" ? { body: '{"name":"v"}' } : {}),
  });
}

interface Entry {
  number: number;
  action: string;
  outcome: string;
  code?: string;
  subject?: string;
  count?: number;
  detail?: Record<string, unknown>;
}
const list = async (query: string, token: string): Promise<{ status: number; entries: Entry[]; total: number }> => {
  const answer = await send("GET", `/api/v1/audit${query}`, token);
  return {
    status: answer.status,
    entries: answer.ok ? ((await answer.json()) as Entry[]) : [],
    total: Number(answer.headers.get("x-total-results-count")),
  };
};

describe("reading the log", () => {
  it("lists the caller's own events, newest first, in pages, and others' only with sudo", async () => {
    const [one, other, root] = [user("read"), user("read"), user("read", "sudo")];
    for (let index = 0; index < 5; index += 1)
      await audit.log.append({ action: `own${String(index)}`, outcome: "ok", subject: one.subject });
    await audit.log.append({ action: "others", outcome: "ok", subject: other.subject });
    const [first, last] = [await list("?page=1&rpp=2", one.token), await list("?page=3&rpp=2", one.token)];
    expect([first.total, first.entries.map(({ action }) => action), last.entries.map(({ action }) => action)]).toEqual([
      5,
      ["own4", "own3"],
      ["own0"],
    ]);
    expect((await list("", other.token)).entries.map(({ action }) => action)).toEqual(["others"]);
    expect([
      (await list(`?subject=${one.subject}`, other.token)).status,
      (await list("?subject=all", other.token)).status,
    ]).toEqual([403, 403]);
    expect((await list(`?subject=${one.subject}`, root.token)).total).toBe(5);
    const all = await list("?subject=all&rpp=100", root.token);
    expect(all.entries.map(({ number }) => number)).toEqual(
      Array.from({ length: all.total }, (_, index) => all.total - index).slice(0, 100),
    );
    expect((await list("?subject=nobody", root.token)).status).toBe(422);
  });

  it("exports lines of JSON with sudo, in parts that join without a gap", async () => {
    const [plain, root] = [user("read"), user("sudo")];
    expect([
      (await send("GET", "/api/v1/audit/export", plain.token)).status,
      (await send("GET", "/api/v1/audit/export")).status,
    ]).toEqual([403, 401]);
    const numbers: number[] = [];
    for (let piece: string[]; ;) {
      const answer = await send("GET", `/api/v1/audit/export?after=${String(numbers.at(-1) ?? 0)}&limit=3`, root.token);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
      piece = (await answer.text()).split("\n").slice(0, -1);
      if (piece.length === 0) break;
      for (const line of piece) {
        const record = JSON.parse(line) as { number: number; mac: string; event: { action: string } };
        expect(record.mac).toMatch(/^[0-9a-f]{64}$/);
        numbers.push(record.number);
      }
    }
    expect(numbers).toEqual(Array.from({ length: audit.log.head()?.number ?? 0 }, (_, index) => index + 1));
  });
});

describe("requests that are rejected", () => {
  const newest = async (count: number): Promise<Entry[]> =>
    (await list(`?subject=all&rpp=${String(count)}`, user("read", "sudo").token)).entries;

  it("are recorded with caller, action and code, except reads and public routes", async () => {
    const [weak, strong] = [user("read"), user("create")];
    const before = audit.log.head()?.number ?? 0;
    expect([
      (await send("POST", "/api/v1/vaults")).status,
      (await send("POST", "/api/v1/vaults", weak.token)).status,
      (await send("POST", "/api/v1/vaults", strong.token)).status,
    ]).toEqual([401, 403, 503]);
    await send("GET", "/api/v1/audit");
    await send("GET", "/api/v1/seal_status");
    await audit.log.append({ action: "marker", outcome: "ok" });
    const entries = (await newest(4)).filter(({ number }) => number > before).reverse();
    expect(entries.map(({ action, outcome, code, subject }) => [action, outcome, code, subject])).toEqual([
      ["createVault", "refused", "unauthorized", undefined],
      ["createVault", "refused", "forbidden", weak.subject],
      ["createVault", "refused", "vault_sealed", strong.subject],
      ["marker", "ok", undefined, undefined],
    ]);
  });

  it("are only counted beyond ten of one caller, and the count is recorded; other callers' are still recorded", async () => {
    const [loud, quiet] = [user("read"), user("read")];
    const before = audit.log.head()?.number ?? 0;
    for (let index = 0; index < 25; index += 1) await send("POST", "/api/v1/vaults", loud.token);
    await send("POST", "/api/v1/vaults", quiet.token);
    audit.refusals.flush();
    await audit.log.append({ action: "marker", outcome: "ok" });
    const entries = (await newest(100)).filter(({ number }) => number > before);
    expect([
      entries.filter(({ subject }) => subject === loud.subject).length,
      entries.filter(({ subject }) => subject === quiet.subject).length,
    ]).toEqual([10, 1]);
    expect(entries.find(({ action }) => action === REFUSALS_COUNTED)).toMatchObject({
      outcome: "refused",
      count: 15,
      detail: { forbidden: 15 },
    });
  });

  it("of many callers are recorded up to sixty a minute, and again a minute later", async () => {
    const before = audit.log.head()?.number ?? 0;
    const note = (): void => {
      audit.refusals.note({
        route: vaultRoutes.createVault,
        code: "unauthorized",
        subject: undefined,
        requestId: "r",
        address: randomUUID(),
      });
    };
    for (let index = 0; index < 2_000; index += 1) note();
    await audit.log.append({ action: "marker", outcome: "ok" });
    expect((audit.log.head()?.number ?? 0) - before).toBe(61);
    nowMs += 60_000;
    note();
    await audit.log.append({ action: "marker", outcome: "ok" });
    expect((await newest(3)).map(({ action, count }) => [action, count])).toEqual([
      ["marker", undefined],
      ["createVault", undefined],
      [REFUSALS_COUNTED, 1_940],
    ]);
  });
});
