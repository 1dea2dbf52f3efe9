/**
 * `proofwright store verify`: checks a proof about a store that the API has answered, without any server: an inclusion
 * or consistency proof of a note store, a membership or non-membership proof of a nullifier store.
 */
import type { TreeProof } from "../engine/merkle/proof-json.js";
import { StartError } from "../platform/start-error.js";
import { verifyStoreProof } from "../verify-store-proof.js";
import type { StoreProofCheck } from "../verify-store-proof.js";
import { parseJson, readTextFile } from "./read-text-file.js";

/** A proof of 255 siblings has 18 KB; the rest of an answer is short. */
const PROOF_FILE_BYTES_MAX = 1_048_576;

interface StoreVerifyOptions {
  readonly file: string;
  /** The root that is trusted; of a consistency proof the later one. Without it the proof's own is only told. */
  readonly root: string | undefined;
}

/**
 * Checks the proof of a file, and prints what it proves. Returns exit status 0 when it holds, 1 otherwise.
 * @throws StartError when the file cannot be read or is no proof, or the root is malformed
 */
export async function runStoreVerify({ file, root }: StoreVerifyOptions): Promise<number> {
  if (root !== undefined && !/^[0-9a-f]{64}$/.test(root))
    throw new StartError("--root must be 64 lower-case hex digits.");
  const json = parseJson(await readTextFile(file, PROOF_FILE_BYTES_MAX), file);
  const check = checkJson(json, { file, root });
  if (!check.holds) {
    process.stdout.write(`The proof does not hold: ${check.reason}.\n`);
    return 1;
  }
  const advice = root === undefined ? " Compare the root with one that you trust, or pass it as --root." : "";
  process.stdout.write(`${describe(check.proof)}${advice}\n`);
  return 0;
}

function checkJson(json: unknown, { file, root }: StoreVerifyOptions): StoreProofCheck {
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
