/** An exported verifier contract on a real node. */
import {
  createPublicClient,
  createWalletClient,
  decodeFunctionResult,
  defineChain,
  encodeFunctionData,
  http,
} from "viem";
import type { Abi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { compileSolidity } from "../../src/engine/solidity/compile-solidity.js";
import { ANVIL_KEYS } from "./anvil.js";
import type { Anvil } from "./anvil.js";

/** Compiles and deploys the contract; the result calls its `verifyProof` with words or lists of them. */
export async function deployVerifier(
  anvil: Anvil,
  source: string,
  gas: bigint,
): Promise<(args: readonly unknown[]) => Promise<boolean>> {
  const compiled = compileSolidity({
    sources: { "verifier.sol": source },
    settings: { evmVersion: "paris", optimizerRuns: 200, viaIr: false },
  });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const abi = compiled.abi as Abi;
  const chain = defineChain({
    id: anvil.chainId,
    name: "anvil",
    nativeCurrency: { name: "ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [anvil.url] } },
  });
  const reader = createPublicClient({ chain, transport: http(), pollingInterval: 20 });
  const writer = createWalletClient({ chain, transport: http(), account: privateKeyToAccount(ANVIL_KEYS[0]) });
  const hash = await writer.deployContract({ abi, bytecode: `0x${compiled.bytecode}`, gas: 5_000_000n });
  const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
  if (contractAddress === null || contractAddress === undefined) throw new Error("the verifier was not deployed");
  // Integers, but for a contract that takes words.
  const entry = abi.find((item) => item.type === "function" && item.name === "verifyProof");
  const types = entry?.type === "function" ? entry.inputs.map(({ type }) => type) : [];
  const inForm = (arg: unknown, i: number): unknown =>
    types[i]?.startsWith("bytes32") === true ? arg : asIntegers(arg);
  return async (args) => {
    const call = { abi, functionName: "verifyProof" } as const;
    const { data } = await reader.call({
      to: contractAddress,
      data: encodeFunctionData({ ...call, args: args.slice(0, types.length).map(inForm) }),
      gas,
    });
    return data !== undefined && decodeFunctionResult({ ...call, data }) === true;
  };
}

function asIntegers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(asIntegers) : BigInt(value as string);
}
