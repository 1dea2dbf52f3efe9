/**
 * Detects tokens (ERC-20, ERC-721, ERC-1155) by the ABI where there is one, else by asking the contract itself
 * (ERC-165, then the calls that every ERC-20 answers), so that a proxy is recognized as the token behind it. A node
 * that refuses a question leaves the type unknown. A node that does not answer makes the functions throw: its silence
 * says nothing about the contract.
 */
import type { Hex } from "../../hex.js";
import { isNodeFault, nodeFault } from "../../rpc/node-faults.js";
import { RpcRefusal, type Rpc, type RpcOptions } from "../../rpc/rpc.js";
import { selectorOf, methodsOf, type ContractAbi } from "../abi/abi.js";
import { decodeMembers } from "../abi/abi-values.js";
import type { TokenType } from "../contract-schemas.js";
import { hexOf } from "../reverts.js";

interface TokenMetadata {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** For each question. With a node slower than this, a registration takes some seconds and finds no type. */
const QUESTION: RpcOptions = { timeoutMs: 3_000 };
const TEXT_CHARACTERS_MAX = 200;
/** The address 1 as an argument. */
const ANY_ADDRESS = "0000000000000000000000000000000000000000000000000000000000000001";
const WORD = /^0x[0-9a-f]{64}$/i;

const REQUIRED: Readonly<Record<TokenType, readonly string[]>> = {
  erc20: [
    "totalSupply()",
    "balanceOf(address)",
    "transfer(address,uint256)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "allowance(address,address)",
  ],
  erc721: [
    "balanceOf(address)",
    "ownerOf(uint256)",
    "safeTransferFrom(address,address,uint256)",
    "safeTransferFrom(address,address,uint256,bytes)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "setApprovalForAll(address,bool)",
    "getApproved(uint256)",
    "isApprovedForAll(address,address)",
  ],
  erc1155: [
    "balanceOf(address,uint256)",
    "balanceOfBatch(address[],uint256[])",
    "setApprovalForAll(address,bool)",
    "isApprovedForAll(address,address)",
    "safeTransferFrom(address,address,uint256,uint256,bytes)",
    "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
  ],
};
/** ERC-165 interface ids. */
const INTERFACES: readonly (readonly [TokenType, string])[] = [
  ["erc721", "80ac58cd"],
  ["erc1155", "d9b67a26"],
];
const ERC165 = "01ffc9a7";
/** No interface has this id (ERC-165): a contract that claims it claims every id. */
const NO_INTERFACE = "ffffffff";

/** Returns the standard all of whose functions the ABI has. */
export function typeByAbi(abi: ContractAbi): TokenType | undefined {
  const signatures = new Set(methodsOf(abi).map(({ signature }) => signature));
  return (Object.keys(REQUIRED) as TokenType[]).find((type) =>
    REQUIRED[type].every((signature) => signatures.has(signature)),
  );
}

/** Asks the contract; returns undefined when it is no token or has no code. Throws when the node does not answer. */
export async function typeByCalls(rpc: Rpc, address: string): Promise<TokenType | undefined> {
  return await orUnknown(async () => {
    const code = hexOf(await rpc.request("eth_getCode", [address, "latest"], QUESTION));
    if (code === undefined || code === "0x") return undefined;
    if ((await supports(rpc, address, ERC165)) && !(await supports(rpc, address, NO_INTERFACE))) {
      for (const [type, id] of INTERFACES) if (await supports(rpc, address, id)) return type;
    }
    // The code has the selectors of its methods as they are. A proxy's code lacks them, so that it is called.
    if (REQUIRED.erc20.every((signature) => code.includes(selectorOf(signature).slice(2)))) return "erc20";
    return (await answersAsErc20(rpc, address)) ? "erc20" : undefined;
  });
}

/**
 * Asks a token for its name, symbol and decimals; those that it does not answer are null. Old ERC-20 tokens answer
 * texts as 32 bytes. Throws when the node does not answer.
 */
export async function tokenMetadata(rpc: Rpc, address: string): Promise<TokenMetadata> {
  const [name, symbol, decimals] = await Promise.all(
    ["name()", "symbol()", "decimals()"].map(async (signature) => await call(rpc, address, selectorOf(signature))),
  );
  const number = decimals !== undefined && WORD.test(decimals) ? BigInt(decimals) : undefined;
  return {
    name: textOf(name),
    symbol: textOf(symbol),
    decimals: number !== undefined && number <= 255n ? Number(number) : null,
  };
}

async function supports(rpc: Rpc, address: string, interfaceId: string): Promise<boolean> {
  const answer = await call(rpc, address, `0x${ERC165}${interfaceId.padEnd(64, "0")}`);
  return answer !== undefined && WORD.test(answer) && BigInt(answer) === 1n;
}

async function answersAsErc20(rpc: Rpc, address: string): Promise<boolean> {
  const questions = [
    selectorOf("totalSupply()"),
    `${selectorOf("balanceOf(address)")}${ANY_ADDRESS}`,
    `${selectorOf("allowance(address,address)")}${ANY_ADDRESS}${ANY_ADDRESS}`,
  ];
  for (const data of questions) {
    const answer = await call(rpc, address, data);
    if (answer === undefined || !WORD.test(answer)) return false;
  }
  // A contract whose fallback answers every call with a word is no token.
  const fallback = await call(rpc, address, `0x${NO_INTERFACE}`);
  return fallback === undefined || !WORD.test(fallback);
}

/** Returns the return data of a call, or undefined when it reverts. Throws when the node itself failed. */
async function call(rpc: Rpc, to: string, data: string): Promise<Hex | undefined> {
  try {
    return hexOf(await rpc.request("eth_call", [{ to, data }, "latest"], QUESTION));
  } catch (error) {
    if (error instanceof RpcRefusal && isNodeFault(error)) throw nodeFault(error);
    if (error instanceof RpcRefusal) return undefined;
    throw error;
  }
}

/** Returns undefined when the node refuses to answer, which says nothing about the contract. */
async function orUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RpcRefusal) return undefined;
    throw error;
  }
}

function textOf(data: string | undefined): string | null {
  const hex = hexOf(data);
  if (hex === undefined || hex === "0x") return null;
  const decoded = decodeMembers([{ name: "", type: { kind: "string", text: "string" } }], hex)?.[0];
  const text =
    typeof decoded === "string" ? decoded : WORD.test(hex) ? Buffer.from(hex.slice(2), "hex").toString("utf8") : "";
  const shown = text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffd]+/g, "")
    .trim()
    .slice(0, TEXT_CHARACTERS_MAX);
  return shown === "" ? null : shown;
}
