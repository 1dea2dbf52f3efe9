/**
 * What a prover's vault knows of the image of its open key (compute/keys/key-images.ts): the hash of the image's file,
 * sealed for a place that no caller's secret has. Neither access to the disk nor the right to use the vault is
 * therefore enough to have proofs made with another key, as it is not for the key's own file
 * (provisioning/key-pins.ts).
 */
import { parseSubject, formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { Log } from "../../platform/log.js";
import type { KeyImagePin } from "../compute/compute.js";
import type { KeyImages } from "../compute/keys/key-images.js";
import type { StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";

interface KeyImageMarksDependencies {
  readonly images: Pick<KeyImages, "recent" | "readMark" | "writeMark">;
  readonly vault: Pick<ProverVault, "sealValue" | "openValue">;
  readonly log: Log;
}

/** A mark as it is stored. */
interface Mark {
  readonly owner: string;
  /** Envelope of a `SealedImage`. */
  readonly sealed: string;
}

/** SHA-256 of the key's file and of the image's. */
interface SealedImage {
  readonly key: string;
  readonly image: string;
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

  /** Returns the provers of each key that has an image, those of the most recently used key first. */
  async *recent(): AsyncIterable<readonly MarkedProver[]> {
    for (const { sha256, proverIds } of this.#with.images.recent()) {
      const provers: MarkedProver[] = [];
      for (const id of proverIds) {
        const owner = parseSubject((await this.#read(sha256, id))?.owner);
        if (owner !== undefined) provers.push({ owner, id });
      }
      yield provers;
    }
  }

  /** Undefined for a mark that is missing or not the vault's: then the key is opened from its file. */
  async #find(prover: StoredProver, key: string): Promise<string | undefined> {
    const mark = await this.#read(key, prover.id);
    if (mark === undefined) return undefined;
    try {
      const opened = await this.#with.vault.openValue(...placeOf(prover), mark.sealed);
      const known = JSON.parse(opened) as SealedImage;
      return known.key === key ? known.image : undefined;
    } catch (error) {
      this.#with.log.debug("the mark of a key's image was not opened", () => ({ prover_id: prover.id, error }));
      return undefined;
    }
  }

  async #keep(prover: StoredProver, key: string, sha256: string): Promise<void> {
    const known: SealedImage = { key, image: sha256 };
    const sealed = await this.#with.vault.sealValue(...placeOf(prover), JSON.stringify(known));
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

function placeOf({
  id,
  vault_id,
  build,
}: StoredProver): [Subject, string, { readonly id: string; readonly type: string }] {
  return [build.owner, vault_id, { id, type: "prover_key_image" }];
}
