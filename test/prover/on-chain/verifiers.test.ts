/** Verifier contracts on a real node: deployed, tried, asked beside this server, and used by a stranger. */
import { createHash } from "node:crypto";
import {
  createPublicClient,
  createWalletClient,
  decodeEventLog,
  defineChain,
  encodeFunctionData,
  http,
  keccak256,
  parseAbi,
  type Abi,
  type Hex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { compileSolidity } from "../../../src/engine/solidity/compile-solidity.js";
import { newId } from "../../../src/platform/ids.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import type { ProveResult, Prover } from "../../../src/prover/schemas.js";
import { ANVIL_KEYS } from "../../support/anvil.js";
import { failureOf, never, principalOf, provision, register } from "../support.js";
import { openChainedRegistry, type ChainedRegistry } from "./support.js";

const SCHEMES = ["groth16", "plonk", "fflonk"] as const;
const SETTINGS = { evmVersion: "paris", optimizerRuns: 200, viaIr: false } as const;
/** Its inputs are not known to the server. */
const SOURCE =
  "pragma circom 2.1.0; template Product() { signal input a; signal input b; signal output c; c <== a * b; } component main = Product();";

let test: ChainedRegistry;
let owner: Subject;
let account: string;
const provers = new Map<string, Promise<Prover>>();
const deployed = new Map<string, Promise<Verifier>>();

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

/** The built-in circuit, provisioned once for each scheme. */
function proverOf(scheme: (typeof SCHEMES)[number]): Promise<Prover> {
  const made = provers.get(scheme) ?? provision(test.provers, owner, { proving_scheme: scheme, name: `my ${scheme}` });
  provers.set(scheme, made);
  return made;
}

/** Its verifier, deployed once for each scheme. */
function verifierOf(scheme: (typeof SCHEMES)[number]): Promise<Verifier> {
  const made =
    deployed.get(scheme) ?? proverOf(scheme).then(async ({ id }) => await test.deploy(id, { account_id: account }));
  deployed.set(scheme, made);
  return made;
}

const prove = async (id: string, inputs: object = { X: "3", Y: "35" }): Promise<ProveResult> =>
  await test.provers.prove(owner, id, { inputs, format: "solidity", signal: never });

const askBoth = async (id: string, item: object, networkId?: string) =>
  await test.provers.verifyOnChain(principalOf(owner), id, { item, store: false, signal: never, networkId });

const artifact = async (id: string, name: string): Promise<string> => {
  const { sha256 } = await test.provers.artifact(owner, id, name);
  return Buffer.from(await test.artifacts.read(sha256)).toString("utf8");
};

const callNode = async (to: string, data: string): Promise<unknown> =>
  await test.anvil.request("eth_call", { to, data }, "latest");
const YES = `0x${"0".repeat(63)}1`;
const NO = `0x${"0".repeat(64)}`;

describe.each(SCHEMES)("the verifier of %s", (scheme) => {
  it("is deployed, tried and recorded", async () => {
    const prover = await proverOf(scheme);
    const verifier = await verifierOf(scheme);
    expect(verifier.errors).toEqual([]);
    expect(verifier).toMatchObject({
      ...{ status: "ready", prover_id: prover.id, network_id: test.networkId, account_id: account, confirmations: 1 },
      ...{ name: `My${scheme.charAt(0).toUpperCase()}${scheme.slice(1)}Verifier`, registry: null },
      known_answer: { origin: "sample", proof_id: null, public_signals: ["35"] },
    });
    const code = (await test.anvil.request("eth_getCode", verifier.address, "latest")) as Hex;
    expect(verifier.code_hash).toBe(keccak256(code));
    const key = await artifact(prover.id, "verifying_key.json");
    expect(verifier.key_hash).toBe(createHash("sha256").update(key).digest("hex"));
    const { gas_used } = test.transactions.service.get(owner, verifier.transaction_id ?? "");
    expect(verifier.gas.deployment).toBe(Number(gas_used));
    expect(verifier.gas.verification).toBeGreaterThan(150_000);
    expect(verifier.gas.verification).toBeLessThan(500_000);
    expect(test.contracts.repository.find(owner, verifier.contract_id ?? "")?.value).toMatchObject({
      ...{ address: verifier.address, status: "deployed", name: verifier.name },
    });
  });

  it("has the gas with which a transaction verifies, and no less", async () => {
    const { address, known_answer: known, gas } = await verifierOf(scheme);
    const with_ = async (limit: number): Promise<unknown> =>
      await test.anvil
        .request("eth_call", { to: address, data: known?.calldata, gas: `0x${limit.toString(16)}` }, "latest")
        .catch(() => "refused");
    expect(await with_(gas.verification ?? 0)).toBe(YES);
    expect(await with_((gas.verification ?? 0) - 2_000)).not.toBe(YES);
  });

  it("accepts new proofs, and refuses each of their signals under another name", async () => {
    const { id } = await proverOf(scheme);
    const { address } = await verifierOf(scheme);
    const { solidity } = await prove(id);
    const calldata = solidity?.calldata ?? "";
    expect(await callNode(address ?? "", calldata)).toBe(YES);
    for (const signal of [35n + BN254.r, 36n, BN254.r, 2n ** 256n - 1n])
      expect(await callNode(address ?? "", calldata.slice(0, -64) + signal.toString(16).padStart(64, "0"))).toBe(NO);
  });

  it("agrees with this server on valid and on wrong proofs", async () => {
    const { id } = await proverOf(scheme);
    const verifier = await verifierOf(scheme);
    const { proof, public_signals } = await prove(id);
    const on_chain = { verifier_id: verifier.id, network_id: test.networkId, address: verifier.address };
    expect(await askBoth(id, { proof, public_signals })).toEqual({
      result: true,
      on_chain: { ...on_chain, result: true },
    });
    expect(await askBoth(id, { proof, public_signals: ["36"] }, test.networkId)).toEqual({
      result: false,
      on_chain: { ...on_chain, result: false },
    });
  });

  it("is the same when a stranger compiles and deploys the artifacts, and serves the example of a caller", async () => {
    const { id } = await proverOf(scheme);
    const { name, code_hash } = await verifierOf(scheme);
    const stranger = openStranger();
    const files = { [`${name}.sol`]: await artifact(id, "verifier.sol") };
    const verifier = await stranger.deploy(stranger.compile(files, name), []);
    expect(keccak256((await test.anvil.request("eth_getCode", verifier.address, "latest")) as Hex)).toBe(code_hash);
    const example = { "caller.sol": await artifact(id, "verifier_caller.sol") };
    const compiled = stranger.compile(example, `${name}Caller`);
    const caller = await stranger.deploy(compiled, [verifier.address]);
    const { solidity } = await prove(id);
    if (solidity === undefined) throw new Error("the form was asked for");
    const { calldata: _calldata, ...words } = solidity;
    const args = Object.values(words).map((each) => integersUnless(scheme === "fflonk", each));
    const withSignal = (signal: bigint): unknown[] => args.with(-1, [signal]);
    await expect(stranger.send(caller, withSignal(35n + BN254.r))).rejects.toThrow(/SignalOutOfRange/);
    await expect(stranger.send(caller, withSignal(36n))).rejects.toThrow(/ProofRefused/);
    const [log] = await stranger.send(caller, withSignal(35n));
    expect(log?.eventName).toBe("Accepted");
    expect(log?.args).toMatchObject({ signals: [35n] });
    await expect(stranger.send(caller, withSignal(35n))).rejects.toThrow(/AlreadyAccepted/);
    await expect(stranger.deploy(compiled, [caller.address])).rejects.toThrow();
  });
});

/** The words of fflonk's proof are bytes32; all else are integers. */
function integersUnless(areWords: boolean, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => integersUnless(areWords, each));
  return areWords ? value : BigInt(value as string);
}

interface StrangersContract {
  readonly address: Hex;
  readonly abi: Abi;
}

/** Somebody with viem, a key of their own and a node. */
function openStranger() {
  const chain = defineChain({
    id: test.anvil.chainId,
    name: "anvil",
    nativeCurrency: { name: "ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [test.anvil.url] } },
  });
  const reader = createPublicClient({ chain, transport: http(), pollingInterval: 20 });
  const writer = createWalletClient({ chain, transport: http(), account: privateKeyToAccount(ANVIL_KEYS[1]) });
  return {
    compile: (sources: Record<string, string>, contract: string): { readonly abi: Abi; readonly bytecode: Hex } => {
      const compiled = compileSolidity({ sources, contract, settings: SETTINGS });
      if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
      // The signals that a contract takes and does not read, or that it reads by their offsets alone.
      expect(compiled.warnings.filter(({ code }) => code !== "5667")).toEqual([]);
      return { abi: compiled.abi as Abi, bytecode: `0x${compiled.bytecode}` };
    },
    deploy: async (
      compiled: { readonly abi: Abi; readonly bytecode: Hex },
      args: unknown[],
    ): Promise<StrangersContract> => {
      const hash = await writer.deployContract({ ...compiled, args });
      const { contractAddress, status } = await reader.waitForTransactionReceipt({ hash });
      if (status !== "success" || contractAddress === null || contractAddress === undefined)
        throw new Error("the deployment failed");
      return { address: contractAddress, abi: compiled.abi };
    },
    send: async ({ address, abi }: StrangersContract, args: readonly unknown[]) => {
      const call = { address, abi, functionName: "accept", args, gas: 1_500_000n } as const;
      await reader.simulateContract({ ...call, account: writer.account });
      const { logs } = await reader.waitForTransactionReceipt({ hash: await writer.writeContract(call) });
      return logs.map(
        (log) => decodeEventLog({ abi, ...log }) as { readonly eventName: string; readonly args: unknown },
      );
    },
  };
}

describe("what goes wrong on the chain", () => {
  it("is an alarm where the contract answers otherwise with the right code", async () => {
    const { id } = await proverOf("groth16");
    const { id: verifierId } = await verifierOf("groth16");
    const { proof, public_signals } = await prove(id);
    const before = test.registry.verifierDisagreements();
    for (const [said, item] of [
      [NO, { proof, public_signals }],
      [YES, { proof, public_signals: ["36"] }],
    ] as const) {
      test.rpc.spoil = (method) => (method === "eth_call" ? { answer: said } : undefined);
      const failure = await failureOf(async () => await askBoth(id, item));
      expect(failure).toMatchObject({ code: "verifier_disagrees", status: 500 });
    }
    expect(test.registry.verifierDisagreements() - before).toBe(2);
    expect(test.audited.at(-1)).toMatchObject({
      ...{ action: "verifier.disagreement", outcome: "refused", code: "verifier_disagrees" },
      ...{ subject: `user:${owner.id}`, target: { id, verifier_id: verifierId } },
    });
    expect(test.log.lines.filter(({ level }) => level === "error").map(({ message }) => message)).toContain(
      "verifier contract and server disagree",
    );
    expect(eventSubjects()).toContain("privacy.prover.verifier.disagreement");
  });

  it("stores nothing when the two disagree", async () => {
    const { id } = await proverOf("groth16");
    await verifierOf("groth16");
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
    const { id } = await proverOf("groth16");
    await verifierOf("groth16");
    const { proof, public_signals } = await prove(id);
    const before = test.registry.verifierDisagreements();
    test.rpc.spoil = () => fault;
    expect(await failureOf(async () => await askBoth(id, { proof, public_signals }))).toMatchObject({ code, status });
    expect(test.registry.verifierDisagreements()).toBe(before);
  });

  it("is found by the checks when the code is another's, and by a verification that it answers", async () => {
    const { id } = await proverOf("groth16");
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
    const checked = await test.call("checkVerifier", { params, waitSec: 60 });
    expect(checked).toMatchObject({ status: "failed", errors: [{ code: "verifier_code_mismatch" }] });
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
    const { id } = await proverOf("groth16");
    const verifier = await verifierOf("groth16");
    const params = { id, verifier_id: verifier.id };
    let lost = 2;
    test.rpc.spoil = () => (lost-- > 0 ? "lost" : undefined);
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready" });
    test.rpc.spoil = (method) => (method === "eth_call" || method === "eth_getCode" ? "lost" : undefined);
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({
      status: "failed",
      errors: [{ code: "verifier_not_checked" }],
    });
    test.rpc.spoil = () => undefined;
    expect(await test.call("checkVerifier", { params, waitSec: 60 })).toMatchObject({ status: "ready" });
  });
});

/** Subjects of all events of the store, oldest first. */
function eventSubjects(): string[] {
  return test.store.range<{ readonly subjects: readonly string[] }>(["events"]).flatMap(({ value }) => value.subjects);
}

it("is paid by a wallet's key too", async () => {
  const { id } = await proverOf("groth16");
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
    await expect.poll(addressOf, { timeout: 60_000 }).toMatch(/^0x.{40}$/);
    registry = { id, address: addressOf() };
  });

  it("names the verifier that its owner enters", async () => {
    const { id } = await proverOf("groth16");
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
    const { id } = await proverOf("groth16");
    const verifier = await test.deploy(id, { account_id: account, registry_contract_id: registry.id });
    expect(verifier).toMatchObject({ status: "ready", registry: { status: "failed", transaction_id: null } });
    expect(verifier.errors).toEqual([
      { code: "execution_reverted", message: expect.stringContaining("not registered") as string },
    ]);
  });

  it("changes hands in two steps, refuses other keys and contracts, and forgets what is removed", async () => {
    const { id } = await proverOf("groth16");
    const { address, key_hash } = await verifierOf("groth16");
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
      for (const { id } of [one, two])
        await expect.poll(async () => (await verifierIn(id))?.status, { timeout: 60_000 }).toBe("deploying");
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
    const { id } = await proverOf("groth16");
    const verifier = await verifierOf("groth16");
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
    const { id } = await proverOf("groth16");
    await verifierOf("groth16");
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
