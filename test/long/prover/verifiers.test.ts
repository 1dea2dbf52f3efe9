/** Verifier contracts on a real node: deployed, tried, asked beside this server, and used by a stranger. */
import { encodeFunctionData, parseAbi, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../../src/platform/ids.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { VerifierRecords } from "../../../src/prover/on-chain/verifier-records.js";
import type { Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import type { ReceiptKeySet } from "../../../src/prover/receipts/receipt-schemas.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { ProveResult, Prover, VerifyResult } from "../../../src/prover/schemas.js";
import { verifyReceipt } from "../../../src/verify-receipt.js";
import { failureOf, never, principalOf, provision, register } from "../../prover/support.js";
import { describeVerifier } from "../../prover/on-chain/scheme-suite.js";
import { expectMuteStrangerServed } from "../../prover/on-chain/stranger.js";
import { openChainedRegistry, type ChainedRegistry } from "../../prover/on-chain/support.js";

/** Its inputs are not known to the server. */
const SOURCE =
  "pragma circom 2.1.0; template Product() { signal input a; signal input b; signal output c; c <== a * b; } component main = Product();";
const SIGNALLESS =
  "pragma circom 2.1.0; template Mute() { signal input a; signal b; b <== a * a; b * a === 27; } component main = Mute();";

let test: ChainedRegistry;
let owner: Subject;
let account: string;
let builtIn: Promise<Prover> | undefined;
let deployed: Promise<Verifier> | undefined;

beforeAll(async () => {
  test = await openChainedRegistry();
  ({ owner } = test);
  account = (await test.account()).id;
});
afterAll(async () => {
  await test.close();
});
afterEach(() => {
  test.rpc.spoil = () => undefined;
});

/** The built-in circuit, provisioned once. */
function proverOf(): Promise<Prover> {
  builtIn ??= provision(test.provers, owner, { proving_scheme: "groth16", name: "my groth16" });
  return builtIn;
}

/** Its verifier, deployed once. */
function verifierOf(): Promise<Verifier> {
  deployed ??= proverOf().then(async ({ id }) => await test.deploy(id, { account_id: account }));
  return deployed;
}

const prove = async (id: string, inputs: object = { X: "3", Y: "35" }): Promise<ProveResult> =>
  await test.provers.prove(owner, id, { inputs, format: "solidity", signal: never });

const askBoth = async (id: string, item: object, networkId?: string) =>
  await test.provers.verifyOnChain(principalOf(owner), id, { item, store: false, signal: never, networkId });

const callNode = async (to: string, data: string): Promise<unknown> =>
  await test.anvil.request("eth_call", { to, data }, "latest");
const YES = `0x${"0".repeat(63)}1`;
const NO = `0x${"0".repeat(64)}`;

describeVerifier("groth16", () => ({ registry: test, payer: account, prover: proverOf(), verifier: verifierOf() }));

it("is named in the receipt of a verification that asked it", async () => {
  const { id } = await proverOf();
  const { address, code_hash } = await verifierOf();
  const { proof } = await prove(id);
  const { handlers, bodyLimits } = test.registry;
  const bound = bindRoutes(proverRoutes, handlers, bodyLimits);
  const ask = async (routeId: "verify" | "getReceiptKeySet", body: object): Promise<unknown> => {
    const handler = bound.find(({ route }) => route.id === routeId)?.handler;
    if (handler === undefined) throw new Error(`there is no route ${routeId}`);
    const request = { principal: principalOf(owner), params: { id }, body, query: {}, signal: never, requestId: "r-1" };
    return (await handler(request as never)).body;
  };
  const verify = async (wanted: object): Promise<VerifyResult> =>
    (await ask("verify", { proof, witness: { Y: "35" }, receipt: true, ...wanted })) as VerifyResult;
  const { receipt = "" } = await verify({ on_chain: true });
  const keys = (await ask("getReceiptKeySet", {})) as ReceiptKeySet;
  const claims = await verifyReceipt(receipt, keys, { proof, publicSignals: ["35"] });
  expect(claims.on_chain).toEqual({
    ...{ network_id: test.networkId, chain_id: test.anvil.chainId, address, code_hash },
  });
  expect(claims.checked_by).toEqual(["proofwright", "contract"]);
  const { receipt: other = "" } = await verify({});
  const unasked = await verifyReceipt(other, keys);
  expect(unasked).not.toHaveProperty("on_chain");
  expect(unasked.checked_by).toEqual(["proofwright"]);
});

describe("what goes wrong on the chain", () => {
  it("is an alarm where the contract answers otherwise with the right code", async () => {
    const { id } = await proverOf();
    const { id: verifierId } = await verifierOf();
    const { proof, public_signals } = await prove(id);
    const before = test.registry.verifierDisagreements();
    for (const [said, item] of [
      [NO, { proof, public_signals }],
      [YES, { proof, public_signals: ["36"] }],
    ] as const) {
      test.rpc.spoil = (method) => (method === "eth_call" ? { answer: said } : undefined);
      const failure = await failureOf(async () => await askBoth(id, item));
      expect(failure).toMatchObject({ code: "verifier_disagreement", status: 500 });
    }
    expect(test.registry.verifierDisagreements() - before).toBe(2);
    expect(test.audited.at(-1)).toMatchObject({
      ...{ action: "verifier.disagreement", outcome: "refused", code: "verifier_disagreement" },
      ...{ subject: `user:${owner.id}`, target: { id, verifier_id: verifierId } },
    });
    expect(test.log.lines.filter(({ level }) => level === "error").map(({ message }) => message)).toContain(
      "verifier contract and server disagree",
    );
    expect(eventSubjects()).toContain("privacy.prover.verifier.disagreement");
  });

  it.each([
    ["no node says which code it has", "lost"],
    ["the node says that it has none", { answer: "0x" }],
  ] as const)("is an alarm also where %s", async (_what, fault) => {
    const { id } = await proverOf();
    await verifierOf();
    const { proof, public_signals } = await prove(id);
    const before = test.registry.verifierDisagreements();
    test.rpc.spoil = (method) => (method === "eth_call" ? { answer: NO } : fault);
    const failure = await failureOf(async () => await askBoth(id, { proof, public_signals }));
    expect(failure).toMatchObject({ code: "verifier_disagreement", status: 500 });
    expect(failure.message).toContain("code could not be read");
    expect(test.registry.verifierDisagreements() - before).toBe(1);
    expect(test.audited.at(-1)).toMatchObject({
      ...{ action: "verifier.disagreement", code: "verifier_disagreement" },
      detail: { server: true, contract: false, contract_code: "unknown" },
    });
  });

  it("stores nothing when the two disagree", async () => {
    const { id } = await proverOf();
    await verifierOf();
    const { proof, public_signals } = await prove(id);
    const total = (): number => test.provers.listProofs(owner, id, { page: 1, rpp: 1 }).total;
    const before = total();
    test.rpc.spoil = (method) => (method === "eth_call" ? { answer: NO } : undefined);
    const request = { item: { proof, public_signals }, store: true, signal: never, networkId: undefined };
    await failureOf(async () => await test.provers.verifyOnChain(principalOf(owner), id, request));
    expect(total()).toBe(before);
    test.rpc.spoil = () => undefined;
    await test.provers.verifyOnChain(principalOf(owner), id, request);
    expect(total()).toBe(before + 1);
  });

  it.each([
    ["no node answers", "lost", "network_unreachable", 502],
    ["the node answers nonsense", { answer: "0x2a" }, "network_answer_invalid", 502],
    ["the node has no contract there", { answer: "0x" }, "network_answer_invalid", 502],
  ] as const)("is no answer, and no alarm, when %s", async (_what, fault, code, status) => {
    const { id } = await proverOf();
    await verifierOf();
    const { proof, public_signals } = await prove(id);
    const before = test.registry.verifierDisagreements();
    test.rpc.spoil = () => fault;
    expect(await failureOf(async () => await askBoth(id, { proof, public_signals }))).toMatchObject({ code, status });
    expect(test.registry.verifierDisagreements()).toBe(before);
  });

  it("is found by the checks when the code is another's, and by a verification that it answers", async () => {
    const { id } = await proverOf();
    const { proof, public_signals } = await prove(id);
    const verifier = await test.deploy(id, { account_id: account });
    expect(verifier.status).toBe("ready");
    const params = { id, verifier_id: verifier.id };
    const code = (await test.anvil.request("eth_getCode", verifier.address, "latest")) as Hex;
    // PUSH1 1, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: says yes to everything.
    await test.anvil.request("anvil_setCode", verifier.address, "0x60015f5260205ff3");
    expect(await failureOf(async () => await askBoth(id, { proof, public_signals: ["36"] }))).toMatchObject({
      code: "verifier_code_mismatch",
    });
    const before = { alarms: test.registry.verifierDisagreements(), events: alarmEvents() };
    const checked = await test.call("checkVerifier", { params, waitSec: 60 });
    expect(checked).toMatchObject({ status: "failed", errors: [{ code: "verifier_code_mismatch" }] });
    expect(test.registry.verifierDisagreements()).toBe(before.alarms + 1);
    expect(alarmEvents()).toBe(before.events + 1);
    expect(test.audited.at(-1)).toMatchObject({
      ...{ action: "verifier.disagreement", code: "verifier_code_mismatch", target: { verifier_id: verifier.id } },
      detail: { findings: ["verifier_code_mismatch"] },
    });
    expect(await askBoth(id, { proof, public_signals })).toMatchObject({ on_chain: { result: true } });
    await test.anvil.request("anvil_setCode", verifier.address, code);
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready", errors: [] });
    await test.call("deleteVerifier", { params });
    expect(await failureOf(async () => await test.call("getVerifier", { params }))).toMatchObject({
      code: "not_found",
      message: "verifier not found",
    });
  });

  it("does not fail a verifier before the node was away for long", async () => {
    const { id } = await proverOf();
    const verifier = await verifierOf();
    const params = { id, verifier_id: verifier.id };
    let lost = 2;
    test.rpc.spoil = () => (lost-- > 0 ? "lost" : undefined);
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready" });
    test.rpc.spoil = (method) => (method === "eth_call" || method === "eth_getCode" ? "lost" : undefined);
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({
      status: "ready",
      errors: [{ code: "verifier_not_checked" }],
      checked_at: expect.any(String) as string,
    });
    test.rpc.spoil = () => undefined;
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready", errors: [] });
  });

  it("leaves a ready verifier in use while it is checked again, and says what it waits for", async () => {
    const { id } = await proverOf();
    const verifier = await verifierOf();
    const { proof, public_signals } = await prove(id);
    const records = new VerifierRecords({ store: test.store });
    const seen: unknown[] = [];
    const asked: Promise<unknown>[] = [];
    test.rpc.spoil = (method) => {
      if (method !== "eth_getCode" || seen.length === 2) return undefined;
      const found = records.find(owner, id, verifier.id)?.value;
      seen.push([found?.status, found?.errors.map(({ code }) => code)]);
      asked.push(askBoth(id, { proof, public_signals }));
      return "lost";
    };
    const params = { id, verifier_id: verifier.id };
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready", errors: [] });
    expect(seen).toEqual([
      ["checking", []],
      ["checking", ["network_unreachable"]],
    ]);
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ on_chain: { result: true } });
  });
});

/** Subjects of all events of the store, oldest first. */
function eventSubjects(): string[] {
  return test.store.range<{ readonly subjects: readonly string[] }>(["events"]).flatMap(({ value }) => value.subjects);
}

function alarmEvents(): number {
  return eventSubjects().filter((subject) => subject === "privacy.prover.verifier.disagreement").length;
}

describe("a circuit without public signals", () => {
  it.each(["groth16", "plonk", "fflonk"] as const)(
    "has a verifier of %s, which takes the proof alone",
    async (scheme) => {
      const name = `mute ${scheme}`;
      const prover = await provision(test.provers, owner, { source: SIGNALLESS, name, proving_scheme: scheme });
      const { proof, public_signals, solidity } = await prove(prover.id, { a: "3" });
      expect(public_signals).toEqual([]);
      expect(solidity?.input).toEqual([]);
      const verifier = await test.deploy(prover.id, { account_id: account, proof, public_signals: [] });
      expect(verifier.errors).toEqual([]);
      expect(verifier).toMatchObject({ status: "ready", known_answer: { origin: "given", public_signals: [] } });
      const calldata = solidity?.calldata ?? "";
      expect(await callNode(verifier.address ?? "", calldata)).toBe(YES);
      const spoiled = (at: number): string =>
        calldata.slice(0, at) + (calldata[at] === "0" ? "1" : "0") + calldata.slice(at + 1);
      for (const at of [10 + 63, 10 + 64 * 2 + 60, calldata.length - 1])
        expect(await callNode(verifier.address ?? "", spoiled(at))).toBe(NO);
      expect(await askBoth(prover.id, { proof, public_signals: [] })).toMatchObject({
        ...{ result: true, on_chain: { result: true } },
      });
      await expectMuteStrangerServed({
        ...test,
        prover,
        verifier,
        prove: async () => await prove(prover.id, { a: "3" }),
      });
    },
  );
});

it("is paid by a wallet's key too", async () => {
  const { id } = await proverOf();
  const { id: walletId } = await test.transactions.wallets.create(owner, {});
  const signer = { wallet_id: walletId, hd_derivation_path: "m/44'/60'/0'/0/3" };
  const { address } = await test.transactions.wallets.addressAt(owner, walletId, signer.hd_derivation_path);
  await test.anvil.request("anvil_setBalance", address, "0xde0b6b3a7640000");
  expect(await test.deploy(id, signer)).toMatchObject({ status: "ready", account_id: null, wallet_id: walletId });
  expect(await test.anvil.request("eth_getTransactionCount", address, "latest")).toBe("0x1");
  const { hd_derivation_path: _path, ...pathless } = signer;
  expect(await failureOf(async () => await test.deploy(id, pathless))).toMatchObject({ code: "invalid_request" });
});

describe("the valid proof with which a contract is tried", () => {
  it("is none of the owner's until one is named", async () => {
    const { id } = await provision(test.provers, owner, { source: SOURCE, name: "product" });
    const made = await prove(id, { a: "3", b: "5" });
    const verifier = await test.deploy(id, { account_id: account });
    expect(verifier).toMatchObject({ status: "unproven", known_answer: null, gas: { verification: null } });
    const params = { id, verifier_id: verifier.id };
    const check = async (body: object): Promise<unknown> =>
      await test.call("checkVerifier", { params, body, waitSec: 60 });
    expect(await check({ proof_id: made.id })).toMatchObject({
      status: "ready",
      known_answer: { origin: "proof", proof_id: made.id, public_signals: ["15"] },
    });
    expect(await check({ proof: made.proof, public_signals: ["15"] })).toMatchObject({
      status: "ready",
      known_answer: { origin: "given", proof_id: null },
    });
    for (const [body, code] of [
      [{ proof: made.proof, public_signals: ["16"] }, "known_answer_invalid"],
      [{ proof: "00", public_signals: ["15"] }, "proof_malformed"],
      [{ proof: made.proof }, "witness_missing"],
      [{ proof_id: newId() }, "not_found"],
      [{ proof_id: made.id, proof: made.proof, public_signals: ["15"] }, "invalid_request"],
    ] as const)
      expect(await failureOf(async () => await check(body)), JSON.stringify(body)).toMatchObject({ code });
  });
});

const REGISTRY_ABI = parseAbi([
  "function verifierOf(bytes16 proverId) view returns (address, bytes32)",
  "function register(bytes16 proverId, address verifier, bytes32 keyHash)",
  "function remove(bytes16 proverId)",
  "function transferOwnership(address next)",
  "function acceptOwnership()",
]);

describe("a registry", () => {
  let registry: { readonly id: string; readonly address: string };
  /** The owner of the registry. */
  let keeper: { readonly id: string; readonly address: string };
  type Call = Parameters<typeof encodeFunctionData<typeof REGISTRY_ABI>>[0];
  const dataOf = (call: Omit<Call, "abi">): string => encodeFunctionData({ ...call, abi: REGISTRY_ABI });
  const wordsOf = (id: string): Hex => `0x${id.replaceAll("-", "")}`;
  /** Sends a transaction that the node signs for anyone; whether it succeeded. */
  const send = async (from: string, data: string): Promise<boolean> => {
    await test.anvil.request("anvil_impersonateAccount", from);
    const call = { from, to: registry.address, data, gas: "0x30d40" };
    const hash = await test.anvil.request("eth_sendTransaction", call);
    const receipt = async () =>
      (await test.anvil.request("eth_getTransactionReceipt", hash)) as { readonly status: string } | null;
    await expect.poll(receipt).not.toBeNull();
    return (await receipt())?.status === "0x1";
  };

  it("is deployed as any contract", async () => {
    keeper = await test.account();
    const { contract_id: id } = (await test.call("createVerifierRegistry", {
      body: { network_id: test.networkId, account_id: keeper.id },
    })) as { readonly contract_id: string };
    const addressOf = () => test.contracts.repository.find(owner, id)?.value.address ?? "";
    await expect.poll(addressOf).toMatch(/^0x.{40}$/);
    registry = { id, address: addressOf() };
  });

  it("names the verifier that its owner enters", async () => {
    const { id } = await proverOf();
    const request = { account_id: keeper.id, registry_contract_id: registry.id };
    const verifier = await test.deploy(id, request);
    expect(verifier).toMatchObject({
      ...{ status: "ready", errors: [], registry: { contract_id: registry.id, status: "registered" } },
    });
    const entry = await callNode(registry.address, dataOf({ functionName: "verifierOf", args: [wordsOf(id)] }));
    const address = (verifier.address ?? "").slice(2).toLowerCase().padStart(64, "0");
    expect(entry).toBe(`0x${address}${verifier.key_hash ?? ""}`);
  });

  it("takes no entry of another account, which leaves the verifier ready", async () => {
    const { id } = await proverOf();
    const verifier = await test.deploy(id, { account_id: account, registry_contract_id: registry.id });
    expect(verifier).toMatchObject({ status: "ready", registry: { status: "failed", transaction_id: null } });
    expect(verifier.errors).toEqual([
      { code: "execution_reverted", message: expect.stringContaining("not registered") as string },
    ]);
  });

  it("changes hands in two steps, refuses other keys and contracts, and forgets what is removed", async () => {
    const { id } = await proverOf();
    const { address, key_hash } = await verifierOf();
    const heir = (await test.account()).address;
    const register_ = (verifier: string, keyHash: string): string =>
      dataOf({ functionName: "register", args: [wordsOf(id), verifier as Hex, `0x${keyHash}`] });
    const good = register_(address ?? "", key_hash ?? "");
    expect(await send(heir, good)).toBe(false);
    expect(await send(heir, dataOf({ functionName: "transferOwnership", args: [heir as Hex] }))).toBe(false);
    expect(await send(keeper.address, dataOf({ functionName: "transferOwnership", args: [heir as Hex] }))).toBe(true);
    expect(await send(keeper.address, dataOf({ functionName: "acceptOwnership" }))).toBe(false);
    expect(await send(keeper.address, good)).toBe(true);
    expect(await send(heir, dataOf({ functionName: "acceptOwnership" }))).toBe(true);
    expect(await send(keeper.address, good)).toBe(false);
    expect(await send(heir, register_(heir, key_hash ?? ""))).toBe(false);
    expect(await send(heir, register_(address ?? "", "ab".repeat(32)))).toBe(false);
    const remove = dataOf({ functionName: "remove", args: [wordsOf(id)] });
    expect(await send(keeper.address, remove)).toBe(false);
    expect(await send(heir, remove)).toBe(true);
    expect(await send(heir, remove)).toBe(false);
    await expect(
      callNode(registry.address, dataOf({ functionName: "verifierOf", args: [wordsOf(id)] })),
    ).rejects.toThrow(/revert/);
  });
});

describe("a prover that is created with verifiers", () => {
  const create = async (accounts: readonly string[]): Promise<Prover> => {
    const request = {
      ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "my groth16" },
      verifiers: accounts.map((each) => ({ network_id: test.networkId, account_id: each })),
    };
    const plans = test.provers.planVerifiers(principalOf(owner), request);
    return await test.provers.create(owner, request, { waitSec: 60, signal: never, plans });
  };

  it("is provisioned after them, with a warning for those that failed", async () => {
    const poor = (await test.account({ isPoor: true })).id;
    const prover = await create([account, poor]);
    expect(prover).toMatchObject({ status: "provisioned", errors: [] });
    expect(prover.warnings).toEqual([expect.objectContaining({ code: "verifier_not_deployed" })]);
    expect(prover.warnings[0]?.message).toContain("The prover can be used");
    const listed = (await test.call("listVerifiers", { params: { id: prover.id } })) as Verifier[];
    expect(listed.map(({ status }) => status).sort()).toEqual(["failed", "ready"]);
    expect(listed.find(({ status }) => status === "failed")?.errors).toEqual([
      { code: "verifier_not_deployed", message: expect.stringContaining("has not enough") as string },
    ]);
  });

  it("waits for its blocks, and no longer when the verifier or the prover is deleted", async () => {
    await test.anvil.request("evm_setAutomine", false);
    try {
      const plans = test.provers.planVerifiers(principalOf(owner), planned(account));
      const one = await test.provers.create(owner, planned(account), { waitSec: 0, signal: never, plans });
      const two = await test.provers.create(owner, planned(account), { waitSec: 0, signal: never, plans });
      const statusOf = (id: string) => test.provers.progress(owner, id).status;
      const verifierIn = async (id: string): Promise<Verifier | undefined> =>
        ((await test.call("listVerifiers", { params: { id } })) as Verifier[])[0];
      for (const { id } of [one, two]) await expect.poll(async () => (await verifierIn(id))?.status).toBe("deploying");
      expect([one, two].map(({ id }) => statusOf(id))).toEqual(["deploying_artifacts", "deploying_artifacts"]);
      const verifier = await verifierIn(one.id);
      await test.call("deleteVerifier", { params: { id: one.id, verifier_id: verifier?.id ?? "" } });
      expect(statusOf(one.id)).toBe("provisioned");
      await test.provers.delete(owner, two.id);
      expect(test.jobs.ofSubject(["deploy_verifier", owner.kind, owner.id, two.id])).toEqual([]);
    } finally {
      await test.anvil.request("evm_setAutomine", true);
      await test.anvil.request("evm_mine");
    }
  });

  it("is refused over a curve that the EVM does not have, and by who may not spend", async () => {
    const request = { ...planned(account), curve: "BLS12_381" };
    expect(await failureOf(() => test.provers.planVerifiers(principalOf(owner), request))).toMatchObject({
      code: "prover_unsupported",
      status: 422,
    });
    expect(await failureOf(() => test.provers.planVerifiers(principalOf(owner, 1), planned(account)))).toMatchObject({
      code: "forbidden",
    });
    await Promise.resolve();
  });
});

function planned(payer: string) {
  return {
    ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "my groth16" },
    verifiers: [{ network_id: test.networkId, account_id: payer }],
  };
}

describe("others", () => {
  it("find no prover, and what they lack themselves is named", async () => {
    const { id } = await proverOf();
    const verifier = await verifierOf();
    const subject: Subject = { kind: "user", id: newId() };
    const body = { network_id: test.networkId, account_id: account };
    const params = { id, verifier_id: verifier.id };
    for (const [route, request] of [
      ["createVerifier", { params: { id }, body }],
      ["listVerifiers", { params: { id } }],
      ["getVerifier", { params }],
      ["checkVerifier", { params }],
      ["deleteVerifier", { params }],
    ] as const)
      expect(await failureOf(async () => await test.call(route, { ...request, subject })), route).toMatchObject({
        ...{ code: "not_found", message: "prover not found" },
      });
    const lacking = async (wrong: object) =>
      (await failureOf(async () => await test.call("createVerifier", { params: { id }, body: { ...body, ...wrong } })))
        .details[0];
    expect(await lacking({ network_id: newId() })).toMatchObject({ code: "not_found", path: "network_id" });
    expect(await lacking({ account_id: newId() })).toMatchObject({ code: "not_found", path: "account_id" });
    expect(await lacking({ account_id: undefined })).toMatchObject({ code: "signer_not_found" });
    expect(await lacking({ registry_contract_id: newId() })).toMatchObject({ path: "registry_contract_id" });
    expect(await lacking({ confirmations: 2 })).toMatchObject({ path: "confirmations" });
    expect(await failureOf(async () => await test.call("createVerifierRegistry", { body, subject }))).toMatchObject({
      code: "not_found",
    });
  });

  it("may not ask through the owner's network, also where the prover is shared", async () => {
    const { id } = await proverOf();
    await verifierOf();
    const { proof, public_signals } = await prove(id);
    await test.registry.sharing.grant(owner, id, { anyone: true });
    const friend: Subject = { kind: "user", id: newId() };
    const request = { item: { proof, public_signals }, store: false, signal: never };
    expect(await test.provers.verify(principalOf(friend), id, request)).toBe(true);
    const asked = { ...request, networkId: undefined };
    expect(await failureOf(async () => await test.provers.verifyOnChain(principalOf(friend), id, asked))).toMatchObject(
      { code: "forbidden" },
    );
  });

  it("are asked about one proof at a time, of provers that have a verifier", async () => {
    const { id } = await register(test.provers, owner);
    expect(await failureOf(async () => await askBoth(id, {}))).toMatchObject({ code: "verifier_missing", status: 409 });
    for (const extra of [{ on_chain: true }, { network_id: test.networkId }])
      expect(
        await failureOf(
          async () =>
            await test.provers.verifyBatch(owner, id, { body: { batch: [{ proof: "00" }], ...extra }, signal: never }),
        ),
      ).toMatchObject({ code: "invalid_request", details: [{ path: Object.keys(extra)[0] }] });
  });
});
