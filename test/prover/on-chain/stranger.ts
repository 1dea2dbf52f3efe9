/** Somebody with viem, a key of their own and a node, who uses the artifacts of a prover. */
import {
  createPublicClient,
  createWalletClient,
  decodeEventLog,
  defineChain,
  http,
  keccak256,
  type Abi,
  type Hex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { compileSolidity } from "../../../src/engine/solidity/compile-solidity.js";
import type { Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import type { ProveResult, Prover } from "../../../src/prover/schemas.js";
import { ANVIL_KEYS, type Anvil } from "../../support/anvil.js";
import { never } from "../support.js";
import type { ChainedRegistry } from "./support.js";

interface Served extends Pick<ChainedRegistry, "anvil" | "provers" | "artifacts" | "owner"> {
  readonly prover: Prover;
  /** Of the prover, on the chain. */
  readonly verifier: Verifier;
}

const SETTINGS = { evmVersion: "paris", optimizerRuns: 200, viaIr: false } as const;

/**
 * Expects that a stranger who compiles and deploys the artifacts of a prover of the built-in circuit has the same
 * verifier, and that the example of a caller takes right proofs once and wrong ones never.
 */
export async function expectStrangerServed({ anvil, provers, artifacts, owner, ...of }: Served): Promise<void> {
  const { id, proving_scheme: scheme } = of.prover;
  const { name, code_hash } = of.verifier;
  const artifact = async (file: string): Promise<string> => {
    const { sha256 } = await provers.artifact(owner, id, file);
    return Buffer.from(await artifacts.read(sha256)).toString("utf8");
  };
  const stranger = openStranger(anvil);
  const files = { [`${name}.sol`]: await artifact("verifier.sol") };
  const verifier = await stranger.deploy(compile(files, name), []);
  expect(keccak256((await anvil.request("eth_getCode", verifier.address, "latest")) as Hex)).toBe(code_hash);
  const compiled = compile({ "caller.sol": await artifact("verifier_caller.sol") }, `${name}Caller`);
  const caller = await stranger.deploy(compiled, [verifier.address]);
  const request = { inputs: { X: "3", Y: "35" }, format: "solidity", signal: never } as const;
  const { solidity } = await provers.prove(owner, id, request);
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
}

/**
 * Expects of a prover without public signals that the example of a caller, compiled by a stranger, takes one proof and
 * no other one after it.
 */
export async function expectMuteStrangerServed(
  served: Served & { readonly prove: () => Promise<ProveResult> },
): Promise<void> {
  const { anvil, provers, artifacts, owner, prover, verifier } = served;
  const { sha256 } = await provers.artifact(owner, prover.id, "verifier_caller.sol");
  const text = Buffer.from(await artifacts.read(sha256)).toString("utf8");
  const stranger = openStranger(anvil);
  const compiled = compile({ "caller.sol": text }, `${verifier.name}Caller`);
  const caller = await stranger.deploy(compiled, [verifier.address]);
  const words = async (): Promise<unknown[]> => {
    const { calldata: _calldata, input: _input, ...proof } = await inSolidity(served.prove());
    return Object.values(proof).map((each) => integersUnless(prover.proving_scheme === "fflonk", each));
  };
  const [proof, other] = [await words(), await words()];
  const mixed = proof.length === 1 ? [[...(proof[0] as unknown[])].reverse()] : proof.with(2, other[2]);
  await expect(stranger.send(caller, mixed)).rejects.toThrow(/ProofRefused/);
  const [log] = await stranger.send(caller, proof);
  expect(log?.eventName).toBe("Accepted");
  await expect(stranger.send(caller, other)).rejects.toThrow(/AlreadyAccepted/);
}

/** The words of fflonk's proof are bytes32; all else are integers. */
function integersUnless(areWords: boolean, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => integersUnless(areWords, each));
  return areWords ? value : BigInt(value as string);
}

interface StrangersContract {
  readonly address: Hex;
  readonly abi: Abi;
}

async function inSolidity(made: Promise<ProveResult>): Promise<NonNullable<ProveResult["solidity"]>> {
  const { solidity } = await made;
  if (solidity === undefined) throw new Error("the form was asked for");
  return solidity;
}

function openStranger({ chainId, url }: Anvil) {
  const chain = defineChain({
    id: chainId,
    name: "anvil",
    nativeCurrency: { name: "ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
  const reader = createPublicClient({ chain, transport: http(), pollingInterval: 20 });
  const writer = createWalletClient({ chain, transport: http(), account: privateKeyToAccount(ANVIL_KEYS[1]) });
  return {
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

function compile(sources: Record<string, string>, contract: string): { readonly abi: Abi; readonly bytecode: Hex } {
  const compiled = compileSolidity({ sources, contract, settings: SETTINGS });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  // The signals that a contract takes and does not read, or that it reads by their offsets alone.
  expect(compiled.warnings.filter(({ code }) => code !== "5667")).toEqual([]);
  return { abi: compiled.abi as Abi, bytecode: `0x${compiled.bytecode}` };
}
