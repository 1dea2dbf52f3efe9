/**
 * Identity: what checking a bearer costs on a request, cold (signature and state) and warm, beside jose's own
 * verification; and the latency of an authenticated GET while a thousand logins are in flight, against the server as a
 * process of its own.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest, Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createLocalJWKSet, jwtVerify } from "jose";
import { apiRoutes } from "../../src/api.js";
import { createClient } from "../../src/sdk/client.js";
import { createIdentity, type Identity } from "../../src/identity/create-identity.js";
import { eventCommit } from "../../src/platform/events/event-log.js";
import { openSigningKeys } from "../../src/platform/auth/signing-keys.js";
import { systemClock } from "../../src/platform/clock.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { endServerProcess, startServerProcess } from "../http-load.js";
import type { BenchSubject, Report } from "../subject.js";
import { References } from "../../src/platform/references.js";
import { secretFile } from "../../src/platform/files/secret-file.js";

const ISSUER = "https://bench.test";
const CREDENTIALS = { email: "bench@example.com", password: "only for measuring 1" };
const GETS_PER_SEC = 200;
/** Until the engine has compiled what a check runs through. */
const WARM_UP_TOKENS = 200;
const TOKENS_A_TURN = 20;

export const subject: BenchSubject = {
  name: "identity",
  title: "Identity: checking a token, and reading while a thousand logins are in flight",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-identity-"));
    try {
      await benchTokens(folder, quick ? 200 : 2000, report);
      await benchLogins(folder, quick ? 3 : 10, report);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function benchTokens(folder: string, samples: number, report: Report): Promise<void> {
  const log = createLog("silent");
  const clock = systemClock;
  const store = await openStore({ path: join(folder, "store") }, { log });
  try {
    const keys = await openSigningKeys({ file: secretFile(join(folder, "signing-keys.json")) }, { clock, log });
    const identity = createIdentity(
      { issuer: ISSUER, signupsPerHourMax: Infinity },
      {
        store,
        keys,
        idTokenKeys: () => Promise.resolve(keys),
        clock,
        log,
        mail: { send: () => Promise.resolve() },
        firstVault: () => Promise.resolve(undefined),
        references: new References(),
        purges: [],
        events: { commitOf: (drafts) => eventCommit(drafts, clock) },
      },
    );
    const tokens = await manyTokens(identity, WARM_UP_TOKENS + samples);
    const set = createLocalJWKSet({ keys: (await identity.jwks()).keys.map((key) => ({ ...key })) });
    const [ours = [], library = []] = await byTurns(tokens, [
      async (token) => {
        await identity.authenticate(token, "prover");
      },
      async (token) => {
        await jwtVerify(token, set, { issuer: ISSUER, audience: "privacy", typ: "at+jwt" });
      },
    ]);
    row(report, "access-token-cold", ours);
    row(report, "access-token-cold", library, "jose jwtVerify");
    warm(report, "access-token-warm", () => identity.authenticate(tokens[0] ?? "", "prover"));
    // It keeps nothing of a token that it has verified.
    row(report, "access-token-warm", library, "jose jwtVerify, cold as ever");
    const principal = await identity.authenticate(tokens[0] ?? "", "identity");
    const personal = (await identity.services.personalTokens.create(principal, { name: "bench" })).access_token;
    warm(report, "personal-token-warm", () => identity.authenticate(personal, "prover"));
  } finally {
    await store.close();
  }
}

/** As many different tokens of one user, each from a session of its own or from one of its refreshes. */
async function manyTokens(identity: Identity, count: number): Promise<string[]> {
  await identity.services.signUp.create({ ...CREDENTIALS, first_name: "B", last_name: "Ench" }, undefined, "127.0.0.1");
  let { token } = await identity.services.login.logIn({ ...CREDENTIALS, scope: "offline_access" }, "127.0.0.1");
  const tokens = [token.access_token];
  while (tokens.length < count) {
    token = await identity.services.tokenGrants.create(
      { grant_type: "refresh_token", refresh_token: token.refresh_token ?? "" },
      { bearer: undefined, authorization: undefined },
    );
    tokens.push(token.access_token);
  }
  return tokens;
}

/**
 * Microseconds of each work on each token but the first ones, sorted. A token is new to each of them, the code is not.
 * By turns of some tokens: what one of them leaves to the processor's caches and to other threads counts little against
 * the next.
 */
async function byTurns(
  tokens: readonly string[],
  works: readonly ((token: string) => Promise<void>)[],
): Promise<number[][]> {
  const microseconds = works.map((): number[] => []);
  for (let from = 0; from < tokens.length; from += TOKENS_A_TURN) {
    for (const [index, work] of works.entries()) {
      for (const token of tokens.slice(from, from + TOKENS_A_TURN)) {
        const begun = performance.now();
        await work(token);
        if (from >= WARM_UP_TOKENS) microseconds[index]?.push((performance.now() - begun) * 1000);
      }
    }
  }
  return microseconds.map((times) => times.sort((a, b) => a - b));
}

/**
 * Batches of a thousand, because one check is shorter than the clock's tick; in one turn, in which the token's hash is
 * kept: the first of a turn takes a microsecond more.
 */
function warm(report: Report, id: string, check: () => unknown): void {
  const batches: number[] = [];
  for (let batch = 0; batch < 200; batch += 1) {
    const begun = performance.now();
    for (let i = 0; i < 1000; i += 1) check();
    batches.push(performance.now() - begun);
  }
  row(
    report,
    id,
    batches.sort((a, b) => a - b),
  );
}

function row(report: Report, id: string, sorted: readonly number[], peer = "proofwright"): void {
  report({
    subject: "identity",
    id,
    peer,
    unit: "us",
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    samples: sorted.length,
  });
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function benchLogins(folder: string, seconds: number, report: Report): Promise<void> {
  const server = await startServerProcess([
    "dist/src/cli.js",
    "server",
    "--port=0",
    `--data-dir=${join(folder, "data")}`,
    "--mode=development",
    "--log-level=error",
    "--rate-limits=false",
  ]);
  try {
    const anonymous = createClient({ baseUrl: server.url }, apiRoutes);
    await anonymous.createUser({ body: { ...CREDENTIALS, first_name: "B", last_name: "Ench" } });
    const token = (await anonymous.authenticate({ body: CREDENTIALS })).body.token.access_token;
    const id = (await anonymous.authenticate({ body: CREDENTIALS })).body.user.id;
    const read = { path: `/api/v1/users/${id}`, token };
    const idle = await reading(server.url, read, seconds);
    latency(report, "get-idle", idle);
    latency(report, "get-during-1000-logins", idle, "the same server without logins");
    const logins = logInMany(server.url, seconds + 4);
    await logins.inFlight;
    // The opening of a thousand connections at once is not what is asked about.
    await new Promise((resolve) => {
      setTimeout(resolve, 1000);
    });
    latency(report, "get-during-1000-logins", await reading(server.url, read, seconds));
    const statuses = Object.entries(await logins.statuses);
    const answered = statuses.reduce((sum, [, count]) => sum + count, 0);
    report({
      subject: "identity",
      id: "logins-answered",
      peer: "proofwright",
      unit: "ops/s",
      median: answered / (seconds + 4),
      samples: answered,
      note: statuses.map(([status, count]) => `${status}: ${String(count)}`).join(", "),
    });
  } finally {
    await endServerProcess(server.child);
  }
}

function latency(report: Report, id: string, sorted: readonly number[], peer = "proofwright"): void {
  report({
    subject: "identity",
    id: `${id}-p50`,
    peer,
    unit: "ms",
    median: quantile(sorted, 0.5),
    samples: sorted.length,
  });
  report({
    subject: "identity",
    id: `${id}-p99`,
    peer,
    unit: "ms",
    median: quantile(sorted, 0.99),
    samples: sorted.length,
  });
}

/** GETs at a fixed rate; a late start counts as latency, so that a stalled server is not spared. */
async function reading(
  url: string,
  read: { readonly path: string; readonly token: string },
  seconds: number,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const begun = performance.now();
  const pending = Array.from({ length: seconds * GETS_PER_SEC }, async (_, index) => {
    const dueMs = begun + (index * 1000) / GETS_PER_SEC;
    await new Promise((resolve) => {
      setTimeout(resolve, dueMs - performance.now());
    });
    const status = await send(url, {
      method: "GET",
      path: read.path,
      headers: { authorization: `bearer ${read.token}` },
      agent,
    });
    if (status !== 200) throw new Error(`the GET was answered ${String(status)}`);
    return performance.now() - Math.max(dueMs, begun);
  });
  const milliseconds = await Promise.all(pending);
  agent.destroy();
  return milliseconds.sort((a, b) => a - b);
}

interface Logins {
  /** Once every client has sent its first. */
  readonly inFlight: Promise<void>;
  /** Answers by status. */
  readonly statuses: Promise<Readonly<Record<string, number>>>;
}

/** The clients are a process of their own, so that they do not slow what is measured here. */
function logInMany(url: string, seconds: number): Logins {
  const child = spawn(process.execPath, [join(PACKAGE_ROOT, "dist/bench/login-load.js"), url, String(seconds)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("the clients that log in ended");
    return line.value;
  };
  const inFlight = next();
  return {
    inFlight: inFlight.then(() => undefined),
    statuses: inFlight.then(next).then((text) => JSON.parse(text) as Record<string, number>),
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

async function send(url: string, { method, path, headers, agent }: Sent): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url + path, { method, headers, agent }, (incoming) => {
      incoming.resume();
      incoming.once("end", () => {
        resolve(incoming.statusCode ?? 0);
      });
    });
    outgoing.once("error", reject);
    outgoing.end();
  });
}
