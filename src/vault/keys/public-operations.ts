/**
 * What needs no private key: verifying under keys that callers bring, BLS aggregates, and the public keys of a vault as
 * a key set.
 */
import type { Subject } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
import { batchOf, itemsOf, laneOf, runSlices, valueOf, type BatchJson } from "../threads/item-batches.js";
import { findKeySpec } from "../key-specs/table.js";
import type { BlsAggregateInput, BlsVerifyInput, VerifyDetachedInput } from "./operation-schemas.js";
import type { ItemOutcome } from "../protocol.js";
import { keyReference, type VaultRepository } from "../repository.js";
import type { VaultSeal } from "../seal/seal.js";
import { invalidMember } from "./validation.js";

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

/** What failed checks are counted by where no record is read. */
const NO_RECORD = "none";

export class PublicOperations {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;

  constructor(dependencies: PublicOperationsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
  }

  /**
   * Throws for a single item `key_spec_unknown`, `spec_cannot_verify`, `public_key_invalid` and what is wrong with the
   * message.
   */
  async verify(input: VerifyDetachedInput, signal?: AbortSignal): Promise<Verified | BatchJson<Verified>> {
    const { items, isBatch } = itemsOf<Omit<VerifyDetachedInput, "batch">>(input);
    const specs = items.flatMap(({ spec }) => findKeySpec(spec ?? "") ?? []);
    const operationUs = Math.max(1, ...specs.map((spec) => spec.operationUs));
    const lane = isBatch ? "bulk" : laneOf({ operationUs });
    const outcomes = await runSlices(
      items,
      { operationUs, signal },
      async (slice) => await this.#seal.run("verify_detached", { items: slice, lane }, NO_RECORD),
    );
    return isBatch ? batchOf<Verified>(outcomes.flat()) : valueOf<Verified>(outcomes.flat()[0]);
  }

  /** Throws for a single item `signature_malformed`. */
  async blsAggregate(input: BlsAggregateInput, signal?: AbortSignal): Promise<Aggregate | BatchJson<Aggregate>> {
    return await this.#blsItems<Aggregate, Omit<BlsAggregateInput, "batch">>(input, signal, async ({ signatures }) =>
      signatures === undefined
        ? missingMember("signatures")
        : await this.#seal.run("bls_aggregate", { signatures }, NO_RECORD),
    );
  }

  /**
   * Throws for a single item `messages_not_distinct`, `digest_length_invalid`, `public_key_invalid`,
   * `signature_malformed`.
   */
  async blsVerify(input: BlsVerifyInput, signal?: AbortSignal): Promise<Verified | BatchJson<Verified>> {
    return await this.#blsItems<Verified, Omit<BlsVerifyInput, "batch">>(
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

  /** Each item goes to the thread by itself: it takes tens of milliseconds. */
  async #blsItems<Result, Item extends object>(
    input: Item & { readonly batch?: readonly Item[] },
    signal: AbortSignal | undefined,
    run: (item: Item) => Promise<ItemOutcome>,
  ): Promise<Result | BatchJson<Result>> {
    const { items, isBatch } = itemsOf<Item>(input);
    const outcomes = await runSlices(
      items,
      { operationUs: Infinity, signal },
      async (slice) => await Promise.all(slice.map(run)),
    );
    return isBatch ? batchOf<Result>(outcomes.flat()) : valueOf<Result>(outcomes.flat()[0]);
  }

  /**
   * The public keys of a page of a vault's asymmetric keys as JSON Web Keys; those of specs without a registered form,
   * and disabled keys, are left out. The total counts the asymmetric keys.
   */
  async jwks(
    owner: Subject,
    vaultId: string,
    page: Page,
  ): Promise<{ body: { keys: Record<string, string>[] }; total: number }> {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findVault(owner, vaultId);
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
