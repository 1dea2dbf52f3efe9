/**
 * `proofwright store verify`: checks a proof about a store that the API has answered, without any server: an inclusion
 * or consistency proof of a note store, a membership or non-membership proof of a nullifier store; and signed tree
 * heads, which say which root a proof must lead to.
 */
import type { JWK } from "jose";
import type { TreeProof } from "../engine/merkle/proof-json.js";
import { StartError } from "../platform/start-error.js";
import { verifyStoreProof } from "../verify-store-proof.js";
import type { StoreProofCheck } from "../verify-store-proof.js";
import { TreeHeadError, verifyTreeHead } from "../verify-tree-head.js";
import type { TreeHeadClaims, TreeHeadKeys } from "../verify-tree-head.js";
import { parseJson, readTextFile } from "./read-text-file.js";

/** A proof of 255 siblings has 18 KB; the rest of an answer is short. */
const PROOF_FILE_BYTES_MAX = 1_048_576;

interface StoreVerifyOptions {
  /** A proof; undefined where a tree head alone is checked. */
  readonly file: string | undefined;
  /** The root that is trusted; of a consistency proof the later one. Without it the proof's own is only told. */
  readonly root: string | undefined;
  /** A signed tree head, as the API has answered it or as a compact JWS; its root is then the one that is trusted. */
  readonly head?: string | undefined;
  /** The store's key set, or one key of it. */
  readonly jwks?: string | undefined;
  /** Id of the store that the head must be of. */
  readonly store?: string | undefined;
}

/**
 * Checks the proof of a file, a tree head, or both, and prints what they prove. Returns exit status 0 when they hold, 1
 * otherwise.
 * @throws StartError when a file cannot be read or is nothing of its kind, or the root is malformed
 */
export async function runStoreVerify(options: StoreVerifyOptions): Promise<number> {
  const { file, root } = options;
  if (root !== undefined && !/^[0-9a-f]{64}$/.test(root))
    throw new StartError("--root must be 64 lower-case hex digits.");
  const proof = file === undefined ? undefined : parseJson(await readTextFile(file, PROOF_FILE_BYTES_MAX), file);
  const head = await checkHead(options);
  if (head?.refusal !== undefined)
    return tell(`The tree head is not accepted (${head.refusal.code}): ${head.refusal.message}.`, 1);
  const signed = head?.claims;
  if (file === undefined) return tell(signed === undefined ? "" : describeHead(signed), 0);
  const check = checkJson(proof, { file, root: root ?? signed?.root });
  if (!check.holds) return tell(`The proof does not hold: ${check.reason}.${adviceFor(signed)}`, 1);
  const mismatch = signed === undefined ? undefined : mismatchOf(check.proof, proof, signed);
  if (mismatch !== undefined) return tell(`The proof is not of the tree head: ${mismatch}.`, 1);
  if (signed !== undefined) return tell(`${describe(check.proof)}\n${describeHead(signed)}`, 0);
  const advice = root === undefined ? " Compare the root with one that you trust, or pass it as --root." : "";
  return tell(`${describe(check.proof)}${advice}`, 0);
}

function tell(text: string, status: number): number {
  process.stdout.write(`${text}\n`);
  return status;
}

interface HeadCheck {
  readonly claims?: TreeHeadClaims;
  readonly refusal?: TreeHeadError;
}

async function checkHead({ head, jwks, store, root }: StoreVerifyOptions): Promise<HeadCheck | undefined> {
  if (head === undefined) return undefined;
  if (jwks === undefined) throw new StartError("--head needs --jwks: the keys that may have signed it.");
  const token = tokenOf(await readTextFile(head, PROOF_FILE_BYTES_MAX), head);
  const keys = keysOf(parseJson(await readTextFile(jwks, PROOF_FILE_BYTES_MAX), jwks), jwks);
  try {
    const expected = { ...(root === undefined ? {} : { root }), ...(store === undefined ? {} : { storeId: store }) };
    return { claims: await verifyTreeHead(token, keys, expected) };
  } catch (error) {
    if (!(error instanceof TreeHeadError)) throw error;
    return { refusal: error };
  }
}

/** A head as the API answers it has its JWS as a member; only what is signed counts. */
function tokenOf(text: string, file: string): string {
  if (!text.trimStart().startsWith("{")) return text.trim();
  const answer = parseJson(text, file) as Readonly<Record<string, unknown>>;
  if (typeof answer["jws"] !== "string")
    throw new StartError(`${file} is no tree head: it has no \`jws\` that is text.`);
  return answer["jws"];
}

/** Reads a JWK set, or one JWK as a set of its own. */
function keysOf(json: unknown, file: string): TreeHeadKeys {
  const isObject = typeof json === "object" && json !== null;
  if (isObject && "keys" in json && Array.isArray(json.keys)) return json as TreeHeadKeys;
  if (isObject && "kty" in json) return { keys: [json as JWK] };
  throw new StartError(`${file} is no key set and no key: it has neither a list \`keys\` nor \`kty\`.`);
}

/** What a proof says beside its root that is at odds with the head; a root alone does not tell curves apart. */
function mismatchOf({ kind, proof }: TreeProof, json: unknown, head: TreeHeadClaims): string | undefined {
  const storeKind = kind === "sparse" ? "nullifiers" : "notes";
  if (storeKind !== head.kind) return `it is about a store of ${storeKind}, and the head about one of ${head.kind}`;
  if (proof.curve !== head.curve) return `its curve is ${proof.curve}, and the head's ${head.curve}`;
  const size = kind === "inclusion" ? proof.size : kind === "consistency" ? proof.toSize : head.size;
  if (size !== head.size) return `its size is ${String(size)}, and the head's ${String(head.size)}`;
  const store = typeof json === "object" && json !== null && "store_id" in json ? json.store_id : head.store_id;
  return store === head.store_id ? undefined : `it is of the store ${String(store)}, and the head of ${head.store_id}`;
}

function adviceFor(head: TreeHeadClaims | undefined): string {
  if (head === undefined) return "";
  return ` The head is of ${String(head.size)} entries; ask for a proof at this size.`;
}

function describeHead({ store_id, kind, curve, size, root, time }: TreeHeadClaims): string {
  return `The tree head is genuine: at ${time} the store ${store_id} had ${String(size)} ${kind} over ${curve}, with the root ${root}.`;
}

function checkJson(
  json: unknown,
  { file, root }: { readonly file: string; readonly root: string | undefined },
): StoreProofCheck {
  try {
    return verifyStoreProof(json, root === undefined ? {} : { root });
  } catch (error) {
    if (error instanceof TypeError) throw new StartError(`${file} is no proof of a store: ${error.message}.`);
    throw error;
  }
}

function describe({ kind, proof }: TreeProof): string {
  switch (kind) {
    case "inclusion":
      return `The leaf ${proof.leaf} is note ${String(proof.index)} of the tree of ${String(proof.size)} notes with the root ${proof.root}.`;
    case "consistency":
      return `The tree of ${String(proof.fromSize)} notes with the root ${proof.fromRoot} is the beginning of the tree of ${String(proof.toSize)} notes with the root ${proof.toRoot}.`;
    case "sparse":
      return proof.found
        ? `The key ${proof.key} has the value ${proof.value} in the tree with the root ${proof.root}.`
        : `The key ${proof.key} is absent from the tree with the root ${proof.root}.`;
  }
}
