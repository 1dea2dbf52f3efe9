/**
 * What a prover's vault knows of the image of its open key (compute/key-images.ts): the hash of the image's file,
 * sealed with the key that the prover's notes are encrypted with. Access to the disk alone is therefore not enough to
 * have proofs made with another key, as it is not for the key's own file (provisioning/key-pins.ts).
 */
import { parseSubject, formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { Log } from "../../platform/log.js";
import type { KeyImagePin } from "../compute/compute.js";
import type { KeyImages, MarkedKey } from "../compute/keys/key-images.js";
import type { StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";

interface KeyImageMarksDependencies {
  readonly images: Pick<KeyImages, "recent" | "readMark" | "writeMark">;
  readonly vault: Pick<ProverVault, "encrypt" | "decrypt">;
  readonly log: Log;
}

/** A mark as it is stored. */
interface Mark {
  readonly owner: string;
  /** Base64. */
  readonly sealed: string;
}

/** A prover that has had its key open. */
export interface MarkedProver {
  readonly owner: Subject;
  readonly id: string;
}

export class KeyImageMarks {
  readonly #with: KeyImageMarksDependencies;

  constructor(dependencies: KeyImageMarksDependencies) {
    this.#with = dependencies;
  }

  /** Returns how the image of a prover's open key is known. */
  pinOf(prover: StoredProver): KeyImagePin | undefined {
    const key = prover.build.artifacts.proving_key?.sha256;
    if (key === undefined) return undefined;
    return {
      find: async () => await this.#find(prover, key),
      keep: async (sha256) => {
        await this.#keep(prover, key, sha256);
      },
    };
  }

  /** Returns provers whose keys have images, those of the most recently used keys first; one for each key. */
  async *recent(): AsyncIterable<MarkedProver> {
    for (const marked of this.#with.images.recent()) {
      const found = await this.#firstOf(marked);
      if (found !== undefined) yield found;
    }
  }

  async #firstOf({ sha256, proverIds }: MarkedKey): Promise<MarkedProver | undefined> {
    for (const id of proverIds) {
      const mark = await this.#read(sha256, id);
      const owner = mark === undefined ? undefined : parseSubject(mark.owner);
      if (owner !== undefined) return { owner, id };
    }
    return undefined;
  }

  /** Undefined for a mark that is missing or not the vault's: then the key is opened from its file. */
  async #find(prover: StoredProver, key: string): Promise<string | undefined> {
    const mark = await this.#read(key, prover.id);
    if (mark === undefined) return undefined;
    try {
      const opened = await this.#with.vault.decrypt(...placeOf(prover), mark.sealed, contextOf(prover, key));
      return Buffer.from(opened).toString("utf8");
    } catch (error) {
      this.#with.log.debug("the mark of a key's image was not opened", () => ({ prover_id: prover.id, error }));
      return undefined;
    }
  }

  async #keep(prover: StoredProver, key: string, sha256: string): Promise<void> {
    const sealed = await this.#with.vault.encrypt(...placeOf(prover), Buffer.from(sha256), contextOf(prover, key));
    const mark: Mark = { owner: formatSubject(prover.build.owner), sealed };
    await this.#with.images.writeMark(key, prover.id, JSON.stringify(mark));
  }

  async #read(key: string, proverId: string): Promise<Mark | undefined> {
    const text = await this.#with.images.readMark(key, proverId);
    if (text === undefined) return undefined;
    try {
      const { owner, sealed } = JSON.parse(text) as Partial<Mark>;
      return typeof owner === "string" && typeof sealed === "string" ? { owner, sealed } : undefined;
    } catch {
      return undefined;
    }
  }
}

function placeOf({ vault_id, build }: StoredProver): [Subject, { readonly vaultId: string; readonly keyId: string }] {
  return [build.owner, { vaultId: vault_id, keyId: build.note_key_id }];
}

function contextOf({ id }: StoredProver, key: string): string {
  return `pv/v1/key-image:${id}:${key}`;
}
