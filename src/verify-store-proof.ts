/**
 * Checks proofs about the stores of provers offline, as the API has answered them: that a note is in a tree, that a
 * tree grew out of an earlier one, that a nullifier was spent or was not. Asks no server and imports none. Formats:
 * engine/merkle/README.md.
 */
import { noteLeaf } from "./engine/merkle/note-tree.js";
import { readTreeProof, verifyTreeProof } from "./engine/merkle/proof-json.js";
import type { TreeProof } from "./engine/merkle/proof-json.js";

/** What the reader knows without the proof; whatever is given must be what the proof says. Hex of 64 digits. */
export interface ExpectedStoreProof {
  /** From a signed tree head, a contract or a public signal; of a consistency proof the later root. */
  readonly root?: string;
  /** Of a consistency proof: the root that was trusted before. */
  readonly fromRoot?: string;
  /** Of an inclusion proof: SHA-256("pv/v1/note" || statement hash || proof hash), of which the leaf is made. */
  readonly noteDigest?: string;
  /** Of a proof about a nullifier: its key, and whether it must have been spent. */
  readonly key?: string;
  readonly found?: boolean;
}

/** What a check finds. */
export type StoreProofCheck =
  { readonly holds: true; readonly proof: TreeProof } | { readonly holds: false; readonly reason: string };

/**
 * Checks a proof and what it is of. Takes some 20 microseconds a hash, at most 255 of them, and 10 ms at first.
 * @param json a parsed answer of the API, or its member `proof`
 * @throws TypeError for what is no proof at all, naming the member which is missing or malformed
 * @example const check = verifyStoreProof(answer, { root: head.root });
 */
export function verifyStoreProof(json: unknown, expected: ExpectedStoreProof = {}): StoreProofCheck {
  const proof = readTreeProof(json);
  if (!verifyTreeProof(proof)) return { holds: false, reason: "its hashes do not lead to its root" };
  const said = saidBy(proof);
  for (const [name, value] of Object.entries(wantedOf(proof, expected))) {
    if (value === undefined) continue;
    const own = said[name];
    if (own === undefined) return { holds: false, reason: `it is of another kind: it has no ${name}` };
    if (own !== value) return { holds: false, reason: `its ${name} is another one: ${String(own)}` };
  }
  return { holds: true, proof };
}

type Said = Readonly<Record<string, string | boolean | undefined>>;

/** What is expected, by the names of what a proof says. */
function wantedOf({ proof }: TreeProof, { root, fromRoot, noteDigest, key, found }: ExpectedStoreProof): Said {
  const leaf = noteDigest === undefined ? undefined : noteLeaf(noteDigest, proof.curve);
  return { root, "earlier root": fromRoot, leaf, key, found };
}

function saidBy({ kind, proof }: TreeProof): Said {
  switch (kind) {
    case "inclusion":
      return { root: proof.root, leaf: proof.leaf };
    case "consistency":
      return { root: proof.toRoot, "earlier root": proof.fromRoot };
    case "sparse":
      return { root: proof.root, key: proof.key, found: proof.found };
  }
}
