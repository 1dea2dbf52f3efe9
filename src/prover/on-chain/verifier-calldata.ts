/**
 * Calls of a verifier contract's `verifyProof`, and calls that it must refuse. All parameters are arrays of fixed
 * length, so that the call data are their words one after the other (Solidity documentation, "Contract ABI
 * Specification").
 */
import { keccak256 } from "../../crypto/hashes/keccak.js";
import { BN254 } from "../../engine/curves/bn254.js";
import type { SolidityArguments } from "../../engine/protocol.js";

/** 4 bytes of the selector and 0x, in characters. */
const HEAD_CHARACTERS = 10;
const WORD_CHARACTERS = 64;
/** Words of a point. */
const POINT_WORDS = 2;
/** Where the contract of Groth16 takes the last of its points, which is of the same group as the first. */
const GROTH16_LAST_POINT = 6;

/** Returns the call data of `verifyProof`, 0x-hex. */
export function verifierCalldata(scheme: string, given: SolidityArguments): string {
  // The contract of a circuit without public signals takes the proof alone.
  const signals = given.input.length === 0 ? "" : `,uint256[${String(given.input.length)}]`;
  const [types, words] =
    "a" in given
      ? [`uint256[2],uint256[2][2],uint256[2]`, [...given.a, ...given.b.flat(), ...given.c]]
      : [`${scheme === "fflonk" ? "bytes32" : "uint256"}[${String(given.proof.length)}]`, given.proof];
  const signature = `verifyProof(${types}${signals})`;
  return `0x${selector(signature)}${[...words, ...given.input].map((word) => word.slice(2)).join("")}`;
}

/** Returns the first 4 bytes of a signature's hash, hex without 0x. */
export function selector(signature: string): string {
  return Buffer.from(keccak256(Buffer.from(signature)).subarray(0, 4)).toString("hex");
}

/**
 * Returns calls that differ from one with a valid proof so that the contract must say no, each with what it is.
 * @param signalCount public signals of the statement, which are the last words
 */
export function wrongCalls(
  calldata: string,
  { scheme, signalCount }: { readonly scheme: string; readonly signalCount: number },
): { readonly what: string; readonly data: string }[] {
  const words = wordsOf(calldata);
  const other = scheme === "groth16" ? GROTH16_LAST_POINT : POINT_WORDS;
  const exchanged = words.map((word, i) => {
    if (i < POINT_WORDS) return words[i + other] ?? word;
    return i >= other && i < other + POINT_WORDS ? (words[i - other] ?? word) : word;
  });
  const calls = [{ what: "a proof with two of its points exchanged", words: exchanged }];
  if (signalCount === 0) calls.push({ what: "no proof at all", words: words.map(() => wordOf(0n)) });
  else {
    const at = words.length - signalCount;
    const signal = BigInt(`0x${words[at] ?? "0"}`);
    calls.push(
      { what: "another public signal", words: words.with(at, wordOf((signal + 1n) % BN254.r)) },
      { what: "a public signal beyond the field", words: words.with(at, wordOf(signal + BN254.r)) },
    );
  }
  const head = calldata.slice(0, HEAD_CHARACTERS);
  return calls.map(({ what, words: changed }) => ({ what, data: `${head}${changed.join("")}` }));
}

/** Returns a call of the same form whose words are all 0: no proof of anything. */
export function emptyCall(scheme: string, signalCount: number): string {
  const zero = `0x${wordOf(0n)}`;
  const input = Array.from({ length: signalCount }, () => zero);
  const pair = [zero, zero];
  return scheme === "groth16"
    ? verifierCalldata(scheme, { a: pair, b: [pair, pair], c: pair, input })
    : verifierCalldata(scheme, { proof: Array.from({ length: 24 }, () => zero), input });
}

function wordsOf(calldata: string): string[] {
  return calldata.slice(HEAD_CHARACTERS).match(new RegExp(`.{${String(WORD_CHARACTERS)}}`, "g")) ?? [];
}

function wordOf(value: bigint): string {
  return value.toString(16).padStart(WORD_CHARACTERS, "0");
}
