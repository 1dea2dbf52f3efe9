/**
 * Tells tokens from other contracts (ERC-20, ERC-721, ERC-1155): by the ABI where there is one, else by asking the
 * contract itself (ERC-165, then the calls that every ERC-20 answers), so that proxies are recognised as what they
 * stand for. A node that refuses a question leaves the type unknown; what one that does not answer throws is its
 * silence, and says nothing of the contract.
 */
import type { Hex } from "viem";
import { RpcRefusal, type Rpc, type RpcOptions } from "../../rpc/rpc.js";
import { selectorOf, methodsOf, type ContractAbi } from "../abi/abi.js";
import { decodeMembers } from "../abi/abi-values.js";
import type { TokenType } from "../contract-schemas.js";
import { hexOf } from "../reverts.js";

export interface TokenMetadata {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** For each question; a node that is this slow costs a registration some seconds and its type. */
const QUESTION: RpcOptions = { timeoutMs: 3_000 };
const TEXT_CHARACTERS_MAX = 200;
const SOMEBODY = "0000000000000000000000000000000000000000000000000000000000000001";
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
/** No interface has it (ERC-165): whoever claims it claims everything. */
const NO_INTERFACE = "ffffffff";

/** The standard whose functions the ABI has, all of them. */
export function typeByAbi(abi: ContractAbi): TokenType | undefined {
  const signatures = new Set(methodsOf(abi).map(({ signature }) => signature));
  return (Object.keys(REQUIRED) as TokenType[]).find((type) =>
    REQUIRED[type].every((signature) => signatures.has(signature)),
  );
}

/** Asks the contract. Undefined when it is no token or has no code. Throws what keeps the node from answering. */
export async function typeByCalls(rpc: Rpc, address: string): Promise<TokenType | undefined> {
  return await orUnknown(async () => {
    const code = hexOf(await rpc.request("eth_getCode", [address, "latest"], QUESTION));
    if (code === undefined || code === "0x") return undefined;
    if ((await supports(rpc, address, ERC165)) && !(await supports(rpc, address, NO_INTERFACE))) {
      for (const [type, id] of INTERFACES) if (await supports(rpc, address, id)) return type;
    }
    // Selectors stand in the dispatcher's code as they are; a proxy's do not, and is asked.
    if (REQUIRED.erc20.every((signature) => code.includes(selectorOf(signature).slice(2)))) return "erc20";
    return (await answersAsErc20(rpc, address)) ? "erc20" : undefined;
  });
}

/**
 * Name, symbol and decimals as far as the contract tells them; ERC-20 of old tell texts as 32 bytes. Throws as
 * `typeByCalls`.
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
    `${selectorOf("balanceOf(address)")}${SOMEBODY}`,
    `${selectorOf("allowance(address,address)")}${SOMEBODY}${SOMEBODY}`,
  ];
  for (const data of questions) {
    const answer = await call(rpc, address, data);
    if (answer === undefined || !WORD.test(answer)) return false;
  }
  // A fallback that answers a word to everything is no token.
  const nonsense = await call(rpc, address, `0x${NO_INTERFACE}`);
  return nonsense === undefined || !WORD.test(nonsense);
}

/** Return data; undefined when the call reverts. */
async function call(rpc: Rpc, to: string, data: string): Promise<Hex | undefined> {
  try {
    return hexOf(await rpc.request("eth_call", [{ to, data }, "latest"], QUESTION));
  } catch (error) {
    if (error instanceof RpcRefusal) return undefined;
    throw error;
  }
}

/** A node's refusal is not the contract's failure. */
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
