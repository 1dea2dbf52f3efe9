/**
 * Operations without a private key: verification under public keys that callers bring, BLS aggregates, and the public
 * keys of a vault as a key set.
 */
import type { MaybeRefused, WithRefusedItems } from "../../platform/contract/refused-item.js";
import { invalidMember } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
import {
  batchOf,
  itemsOf,
  refusalOf,
  workerKindFor,
  runSlices,
  valueOf,
  type BatchJson,
} from "../threads/item-batches.js";
import { findKeySpec } from "../key-specs/table.js";
import type { BlsAggregateInput, BlsVerifyInput, VerifyDetachedInput } from "./operation-schemas.js";
import type { ItemOutcome } from "../protocol.js";
import { keyReference, type VaultRepository } from "../repository.js";
import type { VaultSeal } from "../seal/seal.js";

export interface PublicOperationsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
}

interface Verified {
  verified: boolean;
}

interface Aggregate {
  aggregate_signature: string;
}

/** Stands for the record where a task opens none. */
const NO_RECORD = "none";

/** Runs operations on public keys and signatures. */
export class PublicOperations {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;

  constructor(dependencies: PublicOperationsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
  }

  /**
   * Verifies one item or a batch under the public keys that they bring; a wrong signature is `verified: false`.
   * @throws for a single item `key_spec_unknown`, `spec_cannot_verify`, `public_key_invalid`, and the reason why its
   * message is refused
   */
  async verify(
    input: WithRefusedItems<VerifyDetachedInput>,
    signal?: AbortSignal,
  ): Promise<Verified | BatchJson<Verified>> {
    const { items, isBatch } = itemsOf<MaybeRefused<Omit<VerifyDetachedInput, "batch">>>(input);
    const specs = items.flatMap(({ spec }) => findKeySpec(spec ?? "") ?? []);
    const operationUs = Math.max(1, ...specs.map((spec) => spec.operationUs));
    const worker = isBatch ? "bulk" : workerKindFor({ operationUs });
    const outcomes = await runSlices(
      items,
      { operationUs, signal },
      async (slice) => await this.#seal.run("verify_detached", { items: slice, worker }, NO_RECORD),
    );
    return isBatch ? batchOf<Verified>(outcomes.flat()) : (valueOf(outcomes.flat()[0]) as Verified);
  }

  /** Adds up BLS signatures, for one item or a batch. Throws `signature_malformed` for a single item. */
  async blsAggregate(
    input: WithRefusedItems<BlsAggregateInput>,
    signal?: AbortSignal,
  ): Promise<Aggregate | BatchJson<Aggregate>> {
    return await this.#blsItems<Aggregate, MaybeRefused<Omit<BlsAggregateInput, "batch">>>(
      input,
      signal,
      async ({ signatures }) =>
        signatures === undefined
          ? missingMember("signatures")
          : await this.#seal.run("bls_aggregate", { signatures }, NO_RECORD),
    );
  }

  /**
   * Verifies aggregates of BLS signatures, for one item or a batch.
   * @throws for a single item `messages_not_distinct`, `digest_length_invalid`, `public_key_invalid`,
   * `signature_malformed`
   */
  async blsVerify(
    input: WithRefusedItems<BlsVerifyInput>,
    signal?: AbortSignal,
  ): Promise<Verified | BatchJson<Verified>> {
    return await this.#blsItems<Verified, MaybeRefused<Omit<BlsVerifyInput, "batch">>>(
      input,
      signal,
      async ({ messages, public_keys, signature }) => {
        if (messages === undefined) return missingMember("messages");
        if (public_keys === undefined) return missingMember("public_keys");
        if (signature === undefined) return missingMember("signature");
        return await this.#seal.run("bls_verify", { messages, public_keys, signature }, NO_RECORD);
      },
    );
  }

  /** Sends each item to the thread alone, because it takes tens of milliseconds. */
  async #blsItems<Result, Item extends object>(
    input: Item & { readonly batch?: readonly Item[] },
    signal: AbortSignal | undefined,
    run: (item: Item) => Promise<ItemOutcome>,
  ): Promise<Result | BatchJson<Result>> {
    const { items, isBatch } = itemsOf<Item>(input);
    const outcomes = await runSlices(
      items,
      { operationUs: Infinity, signal },
      async (slice) => await Promise.all(slice.map(async (item) => refusalOf(item) ?? (await run(item)))),
    );
    return isBatch ? batchOf<Result>(outcomes.flat()) : (valueOf(outcomes.flat()[0]) as Result);
  }

  /**
   * Returns the public keys of a page of a vault's asymmetric keys as JSON Web Keys. Leaves out disabled keys and specs
   * without a registered form; the total counts all asymmetric keys. Throws `not_found`.
   */
  async jwks(
    owner: Subject,
    vaultId: string,
    page: Page,
  ): Promise<{ body: { keys: Record<string, string>[] }; total: number }> {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findUsableVault(owner, vaultId);
    const { rows, total } = this.#repository.listKeys(vaultId, { type: "asymmetric" }, page);
    const keys = rows.map(keyReference).filter(({ isDisabled }) => isDisabled !== true);
    const found = await this.#seal.run("json_web_keys", { vault: vault.reference, keys }, vaultId);
    return { body: { keys: found.map((key) => ({ ...key })) }, total };
  }
}

function missingMember(name: string): ItemOutcome {
  const { code, message, details } = invalidMember(name, `\`${name}\` is required`);
  return { ok: false, code, message, details };
}
