/**
 * What requests with an Idempotency-Key keep: the answer lies in the commit by which the request takes effect, so that a
 * repeat is answered when the process ends behind it, and nothing has happened when it ends before it.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createContracts, type Contracts } from "../../src/chain/contracts/create-contracts.js";
import type { ContractPort } from "../../src/chain/contracts/contract-port.js";
import type { NetworkRecord } from "../../src/chain/networks/network-port.js";
import { formatSubject, type Subject } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import type { Once } from "../../src/platform/contract/once.js";
import type { AnyHandler, AnyReply } from "../../src/platform/contract/route.js";
import { AppError, notFound } from "../../src/platform/errors.js";
import { StoredIdempotency } from "../../src/platform/http/limits/idempotency-store.js";
import { runOnce, type IdempotencyClaim } from "../../src/platform/http/limits/idempotency.js";
import type { ProcessTask, ProcessTasks } from "../../src/platform/pool/process-task.js";
import { References } from "../../src/platform/references.js";
import { StoreConflict, type Store, type StoreCommit } from "../../src/platform/store/store.js";
import { VerifierRecords } from "../../src/prover/on-chain/verifier-records.js";
import { proverRoutes } from "../../src/prover/routes.js";
import { untilAborted } from "../support/aborted.js";
import { eventually } from "../support/eventually.js";
import { subject } from "../vault/support.js";
import { PAGE, never, openTestRegistry, principalOf, provision, type TestRegistry } from "./support.js";

const owner: Subject = subject();
const NETWORK = randomUUID();
const REFUSED = ["refused"];
const INPUTS = { X: "3", Y: "35" };

let test: TestRegistry;
let contracts: Contracts;
let proverId: string;
let storeId: string;
let vaultId: string;
/** A verifier whose deployment has ended. */
let verifierId: string;

beforeAll(async () => {
  const made: { port?: ContractPort } = {};
  test = await openTestRegistry({
    ...{ idle: true, wrapStore: refusingStore },
    chain: () => made.port ?? notReached("the chain is made before it is asked"),
  });
  contracts = openContracts(test);
  made.port = contracts.port({ confirmationsOf: () => 1, requireOwnSigner: () => undefined });
  await test.jobs.start();
  const prover = await provision(test.provers, owner);
  ({ id: proverId, note_store_id: storeId, vault_id: vaultId } = prover);
  verifierId = await deployedVerifier();
  // The keys that are rotated.
  await call("prove", { body: { witness: INPUTS, receipt: true } });
  await call("getStoreHead", { params: { id: storeId } });
});
afterAll(async () => {
  await test.jobs.stop();
  await contracts.stop();
  await test.close();
});

/** Table after whose next commit nothing is written any more. */
let lastTable: string | undefined;
let isOver = false;

/** Refuses what a test wants to be refused: by a conflict first, and then for good. */
function refusingStore(store: Store): Store {
  return {
    get: (key) => store.get(key),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: async () => await store.close(),
    commit: async (commit) => {
      const put = commit.puts?.find(({ key }) => key[0] === REFUSED[0]);
      if (put?.value === 1) throw new StoreConflict(put.key);
      if (put !== undefined || isOver) throw new AppError("storage_full", { message: "refused" });
      await store.commit(commit);
      isOver = commit.puts?.some(({ key }) => key[0] === lastTable) === true;
    },
  };
}

/** Contracts that are never compiled, and a chain that nobody asks. */
function openContracts({ store, jobs, log }: TestRegistry): Contracts {
  const tasks: Pick<ProcessTasks, "run"> = {
    run: async ({ signal }: ProcessTask<never>) => {
      await untilAborted(signal ?? new AbortController().signal).catch(() => undefined);
      return { ok: false, code: "aborted", message: "aborted" } as never;
    },
  };
  const references = new References();
  references.provide("network", () => NETWORK);
  return createContracts(
    {},
    {
      ...{ store, jobs, log, references, clock: systemClock, turnOf: formatSubject, tasks: tasks as ProcessTasks },
      submissions: { provideAbis: none, onSettled: none, submit: unreached, get: unreached },
      networks: { find: () => ({ id: NETWORK }) as NetworkRecord, rpc: unreached },
      requireTenant: (_principal, { kind }) => {
        throw notFound(kind);
      },
    },
  );
}

function notReached(what: string): never {
  throw new Error(what);
}

const none = (): void => undefined;
const unreached = (): never => notReached("no chain is asked");

/** Stores a verifier as the end of its deployment leaves it, without a contract. */
async function deployedVerifier(): Promise<string> {
  const records = new VerifierRecords(test);
  const { body } = await call("createVerifier", SIGNED);
  const { id } = body as { readonly id: string };
  const queued = records.find(owner, proverId, id)?.value;
  if (queued === undefined) return notReached("the verifier is stored");
  const address = `0x${"11".repeat(20)}`;
  const ready = { ...queued, id: randomUUID(), status: "ready" as const, transaction_id: randomUUID(), address };
  await test.store.commit(records.insertion(ready));
  return ready.id;
}

const SIGNED = { body: { network_id: NETWORK, account_id: randomUUID() } };

interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly once?: Once;
  readonly waitSec?: number;
}

async function call(
  route: keyof typeof proverRoutes,
  { params, body, once, waitSec = 0 }: Call = {},
): Promise<AnyReply> {
  const handlers: Readonly<Record<string, AnyHandler>> = test.registry.handlers;
  const handler = handlers[route] ?? notReached(`${route} is a route`);
  const request = {
    ...{ principal: principalOf(owner), params: { id: proverId, ...params }, query: PAGE, body, once },
    ...{ preferWaitSec: waitSec, prefersAsync: false, signal: never, requestId: "r", address: "127.0.0.1" },
  };
  return await handler(request as never);
}

/** The ids of the keys in the prover's vault: new ones, and those that a rotation deletes. */
function keysInVault(wanted?: string): string[] {
  const { body } = test.vault.vault.listKeys(owner, vaultId, { page: 1, rpp: 100 });
  return body.filter(({ name }) => wanted === undefined || name === wanted).map(({ id }) => id);
}

interface Case {
  readonly route: keyof typeof proverRoutes;
  /** Told from other cases of the route. */
  readonly of: string;
  /** Each call is another one, where the same would change nothing. */
  readonly request?: () => Pick<Call, "params" | "body">;
  /** How often the commit is tried that the first time meets another; twice unless given. */
  readonly tries?: number;
  /** Reads what the route changes. */
  readonly state: () => unknown;
}

const storeParams = (): Call => ({ params: { id: storeId } });
const proofs = (): unknown => [
  test.provers.listProofs(owner, proverId, PAGE).total,
  test.registry.stores.get(owner, storeId),
];
const verifiers = async (): Promise<unknown> => (await call("listVerifiers")).body;

const CASES: readonly Case[] = [
  {
    route: "createProverGrant",
    of: "a new grant",
    request: () => ({ body: { user_id: randomUUID() } }),
    state: () => test.registry.sharing.listGrants(owner, proverId, PAGE),
  },
  { route: "createProverInputKey", of: "X25519", state: () => keysInVault() },
  {
    route: "createProverInputKey",
    of: "P-256",
    request: () => ({ body: { crv: "P-256" } }),
    state: () => keysInVault(),
  },
  {
    route: "rotateReceiptKey",
    of: "a prover",
    state: async () => [(await call("listReceiptKeys")).body, keysInVault()],
  },
  {
    route: "rotateStoreHeadKey",
    of: "a store",
    request: storeParams,
    state: async () => [(await call("listStoreHeadKeys", storeParams())).body, keysInVault()],
  },
  { route: "createVerifier", of: "a prover", request: () => SIGNED, state: verifiers },
  {
    route: "checkVerifier",
    of: "a prover",
    request: () => ({ params: { verifier_id: verifierId } }),
    state: verifiers,
  },
  {
    ...{ route: "createVerifierRegistry", of: "an owner", tries: 1 },
    request: () => SIGNED,
    state: () => contracts.service.list(principalOf(owner), PAGE),
  },
  { route: "prove", of: "a proof", request: () => ({ body: { witness: INPUTS } }), state: proofs },
  {
    route: "prove",
    of: "a proof that others have checked",
    request: () => ({ body: { witness: INPUTS, assurance: "triple" } }),
    state: proofs,
  },
];

const claimOf = (route: string): IdempotencyClaim => ({
  ...{ subject: formatSubject(owner), routeId: route, key: randomUUID(), requestHash: "h", keepsOnce: true },
});

/** Runs a request to its answer in a process that ends before it stores it; returns the answer and its repeat. */
async function cutOff(route: Case["route"], request: Call): Promise<{ given: AnyReply; repeat: AnyReply }> {
  const { store } = test;
  const claim = claimOf(route);
  let given: AnyReply | undefined;
  let failure: unknown;
  runOnce(new StoredIdempotency({ store, clock: systemClock }), claim, async (once) => {
    given = await call(route, { ...request, once });
    return await new Promise<never>(() => undefined);
  }).catch((error: unknown) => {
    failure = error;
  });
  await eventually(() => {
    expect(given ?? failure).toBeDefined();
  });
  if (given === undefined) throw failure;
  const next = new StoredIdempotency({ store, clock: systemClock });
  return { given, repeat: await runOnce(next, claim, () => notReached("the request is run again")) };
}

/** Keeps what the store refuses. Returns how often it was asked. */
function keepingRefused(): { readonly once: Once; readonly asked: () => number } {
  let count = 0;
  const keep = (): StoreCommit => {
    count += 1;
    return { puts: [{ key: REFUSED, value: count }] };
  };
  const once = { answered: keep, cutOff: keep, begun: keep, begin: async () => await test.store.commit(keep()) };
  return { once, asked: () => count };
}

describe.each(CASES)("$route of $of", ({ route, request = () => ({}), tries = 2, state }) => {
  it("takes no effect where its answer is not kept", async () => {
    expect(proverRoutes[route]).toMatchObject({ creates: true, keepsOnce: true });
    const before = await state();
    const { once, asked } = keepingRefused();
    await expect(call(route, { ...request(), once })).rejects.toThrow();
    expect(await state()).toEqual(before);
    // What a try after a conflict makes may be another.
    expect(asked()).toBe(tries);
  });

  it("is answered alike when it was cut off behind its commit", async () => {
    const before = await state();
    const { given, repeat } = await cutOff(route, request());
    const { headers = {} } = given;
    expect(repeat).toEqual({ ...given, headers: { ...headers, "Idempotency-Replayed": "true" } });
    expect(await state()).not.toEqual(before);
  });
});

it("answers with a proof that is kept and has no receipt yet, and says so", async () => {
  const { given, repeat } = await cutOff("prove", { body: { witness: INPUTS, receipt: true } });
  const { receipt, ...proof } = given.body as { readonly receipt: string };
  expect(receipt).toMatch(/^ey/);
  const receipt_error = { code: "receipt_interrupted", message: expect.stringContaining("verify") as string };
  expect(repeat).toMatchObject({ status: 201, body: { ...proof, receipt_error } });
  expect(repeat.body).not.toHaveProperty("receipt");
});

it("answers with the verifier that it has queued when that is deleted while it waits", async () => {
  const kept: AnyReply[] = [];
  const once: Once = {
    ...keepingRefused().once,
    answered: (reply) => {
      kept.push(reply);
      return {};
    },
  };
  const answered = call("createVerifier", { ...SIGNED, once, waitSec: 60 });
  await eventually(() => {
    expect(kept).toHaveLength(1);
  });
  const { id } = kept[0]?.body as { readonly id: string };
  await eventually(async () => {
    expect((await call("getVerifier", { params: { verifier_id: id } })).status).toBe(200);
  });
  await call("deleteVerifier", { params: { verifier_id: id } });
  expect(await answered).toEqual(kept[0]);
});

it("leaves no private key of a retired key behind when the process ends with the rotation", async () => {
  const [before] = keysInVault("receipts");
  lastTable = "receipt_signer";
  try {
    await call("rotateReceiptKey");
  } finally {
    lastTable = undefined;
    isOver = false;
  }
  const after = keysInVault("receipts");
  expect([before, after.length]).toEqual([expect.any(String), 1]);
  expect(after).not.toContain(before);
});
