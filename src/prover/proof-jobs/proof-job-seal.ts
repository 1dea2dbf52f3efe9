/**
 * Seals what a job is asked for and what it answers with the caller's own key for the prover, so that nothing of a
 * witness or of a proof is ever plain on disk. Opened only while the vault is unsealed.
 */
import { AppError, assert } from "../../platform/errors.js";
import type { Principal } from "../../platform/auth/principal.js";
import { CallerEncryption, type CallerEncryptionDependencies } from "../proofs/caller-encryption.js";
import type { MadeProof } from "../proofs/kept-along.js";
import type { AskedProof } from "../proofs/prove-requests.js";
import type { Admission } from "../sharing/prover-access.js";
import type { StoredProofJob } from "./proof-job-records.js";

/** An input that is sealed under the id of its job. */
export interface SealedInput {
  readonly sealedBy: StoredProofJob["sealed_by"];
  /** Base64. */
  readonly parts: readonly string[];
}

type SealedJob = Pick<StoredProofJob, "id" | "owner" | "sealed_by">;

/** Becomes a record of 256 KiB in base64, sixteen of which are as long as a record may be at all. */
export const PART_BYTES = 192 * 1024;

export class ProofJobSeal {
  readonly #with: CallerEncryptionDependencies;
  readonly #encryption: CallerEncryption;

  constructor(dependencies: CallerEncryptionDependencies) {
    this.#with = dependencies;
    this.#encryption = new CallerEncryption(dependencies);
  }

  /** @throws AppError as `CallerEncryption.encrypt` */
  async sealInput(jobId: string, asked: AskedProof, admission: Admission): Promise<SealedInput> {
    const { principal, ...rest } = asked;
    const { subject, ...claims } = principal;
    const text = Buffer.from(JSON.stringify({ ...rest, claims }));
    try {
      const parts = Array.from({ length: Math.ceil(text.length / PART_BYTES) }, (_, index) =>
        text.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
      );
      const { place, ciphertexts } = await this.#encryption.encrypt(subject, admission, parts, (_place, index) =>
        inputContext(jobId, index, parts.length),
      );
      return { sealedBy: { vault_id: place.vault_id, key_id: place.note_key_id }, parts: ciphertexts };
    } finally {
      text.fill(0);
    }
  }

  /** @throws AppError `vault_sealed`, `not_found` when the key was deleted */
  async openInput(job: SealedJob, parts: readonly string[]): Promise<AskedProof> {
    const texts = await Promise.all(
      parts.map(async (part, index) => await this.#decrypt(job, part, inputContext(job.id, index, parts.length))),
    );
    const text = Buffer.concat(texts);
    const { claims, ...rest } = JSON.parse(text.toString("utf8")) as Omit<AskedProof, "principal"> & {
      readonly claims: Omit<Principal, "subject">;
    };
    for (const part of [...texts, text]) part.fill(0);
    return { ...rest, format: rest.format, principal: { ...claims, subject: job.owner } };
  }

  /** Returns base64. @throws AppError `vault_sealed`, `not_found` when the key was deleted */
  async sealResult(job: SealedJob, made: MadeProof): Promise<string> {
    const { vault_id: vaultId, key_id: keyId } = job.sealed_by;
    const text = Buffer.from(JSON.stringify(made));
    return await this.#with.vault.encrypt(job.owner, { vaultId, keyId }, text, resultContext(job.id));
  }

  /** @throws AppError `vault_sealed`, `not_found` when the key was deleted */
  async openResult(job: SealedJob, sealed: string): Promise<MadeProof> {
    const text = Buffer.from(await this.#decrypt(job, sealed, resultContext(job.id))).toString("utf8");
    const made = JSON.parse(text) as MadeProof;
    assert(typeof made.proof === "string", "a result has a proof");
    return made;
  }

  async #decrypt(job: SealedJob, ciphertext: string, context: string): Promise<Uint8Array> {
    const { vault_id: vaultId, key_id: keyId } = job.sealed_by;
    try {
      return await this.#with.vault.decrypt(job.owner, { vaultId, keyId }, ciphertext, context);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      throw new AppError("not_found", { message: "the key that opens this job was deleted", cause: error });
    }
  }
}

/** Binds a part to its job and its place in it. */
function inputContext(jobId: string, index: number, count: number): string {
  return `pv/v1/proof-job-input:${jobId}:${String(index)}/${String(count)}`;
}

function resultContext(jobId: string): string {
  return `pv/v1/proof-job-result:${jobId}`;
}
