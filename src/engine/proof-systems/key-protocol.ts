/** For which scheme a key of snarkjs is, by what it says of itself: whoever takes one for another is told so. */
import type { PROOF_SYSTEMS } from "./names.js";
import { parsedJson } from "./imported-keys.js";

type Scheme = (typeof PROOF_SYSTEMS)[keyof typeof PROOF_SYSTEMS]["scheme"];

/** By the number in the first section of a `.zkey`, as snarkjs writes them. */
const SCHEMES: Readonly<Record<number, Scheme>> = { 1: "groth16", 2: "plonk", 10: "fflonk" };
const HEAD_BYTES = 12;
const SECTIONS_MAX = 32;
const ZKEY_MAGIC = 0x79656b7a;

/** Returns what is wrong with a `.zkey` of another scheme; undefined also for what is none. */
export function findOtherScheme(zkey: Uint8Array, scheme: Scheme): string | undefined {
  const view = new DataView(zkey.buffer, zkey.byteOffset, zkey.byteLength);
  if (zkey.length < HEAD_BYTES || view.getUint32(0, true) !== ZKEY_MAGIC) return undefined;
  let at = HEAD_BYTES;
  // The protocol's section need not be the first; each has its kind and its length before it.
  for (let section = 0; section < SECTIONS_MAX && at + HEAD_BYTES + 4 <= zkey.length; section += 1) {
    if (view.getUint32(at, true) === 1) return refusalOf(SCHEMES[view.getUint32(at + HEAD_BYTES, true)], scheme);
    at += HEAD_BYTES + Number(view.getBigUint64(at + 4, true));
  }
  return undefined;
}

/** The same of a verifying key. @param text JSON */
export function findOtherSchemeOfVerifyingKey(text: string, scheme: Scheme): string | undefined {
  const key = parsedJson(text);
  if (typeof key !== "object" || key === null || !("protocol" in key)) return undefined;
  return refusalOf(
    Object.values(SCHEMES).find((known) => known === key.protocol),
    scheme,
  );
}

function refusalOf(said: Scheme | undefined, scheme: Scheme): string | undefined {
  if (said === undefined || said === scheme) return undefined;
  return `the key is for ${said}, which is not the prover's scheme ${scheme}`;
}
