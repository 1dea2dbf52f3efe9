/**
 * Signing, verifying, encrypting, decrypting, rewrapping and agreeing with a vault's keys, one item or a batch. Finds
 * the key under its owner and leaves the work to the vault's threads. Reads and returns the texts of the API.
 */
import type { WithRefusedItems } from "../../platform/contract/refused-item.js";
import type { JsonText } from "../../platform/json/json-text.js";
import { frameGeneration, FRAME_HEADER_BYTES, FRAME_OVERHEAD_BYTES } from "../worker/ciphertext-frame.js";
import type { HdWallets } from "./hd-wallets.js";
import type { KeyCall } from "./key-call.js";
import { requireForCallers } from "./key-records.js";
import {
  outcomesJson,
  joinedBatch,
  itemsOf,
  workerKindFor,
  runSlices,
  valueOf,
  type BatchJson,
} from "../threads/item-batches.js";
import { BIP39 } from "../key-specs/bip39.js";
import { keySpecNamed } from "../key-specs/table.js";
import type {
  AgreeInput,
  CipherBatchInput,
  PossessionJson,
  RewrapInput,
  SignInput,
  SignResultJson,
  VerifyInput,
} from "./operation-schemas.js";
import type { ItemOutcome, KeyOperation, KeyReference, OperateMessage, OperationItem } from "../protocol.js";
import type { VaultRepository } from "../repository.js";
import type { FoundKey } from "../vault-records.js";
import type { VaultSeal } from "../seal/seal.js";

export interface KeyOperationsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly wallets: HdWallets;
}

/** One item, or `batch` with many. */
type BatchOf<Item> = Item & { readonly batch?: readonly Item[] };

interface Verified {
  verified: boolean;
}
interface Data {
  data: string;
}
interface Agreed {
  shared_key: string;
}

const NONE: readonly KeyReference[] = [];
/** Length of 0x and the hex of a frame's header. */
const HEADER_CHARACTERS = 2 + 2 * FRAME_HEADER_BYTES;

/** Runs operations of keys. */
export class KeyOperations {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #wallets: HdWallets;

  constructor(dependencies: KeyOperationsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#wallets = dependencies.wallets;
  }

  /**
   * Signs one item or a batch.
   * @throws spec_cannot_sign, `key_disabled`, `key_server_only`, `not_found`, and for a single item the reason why it
   *   is refused
   */
  sign(
    call: KeyCall,
    input: WithRefusedItems<SignInput>,
  ): Promise<SignResultJson | JsonText<BatchJson<SignResultJson>>> {
    return this.#run<SignResultJson>(call, "sign", input);
  }

  /**
   * Signs statements of the server itself, also with a key that is for these alone; never for a caller's own message.
   * @throws as `sign`
   */
  signAsServer(
    call: KeyCall,
    input: WithRefusedItems<SignInput>,
  ): Promise<SignResultJson | JsonText<BatchJson<SignResultJson>>> {
    return this.#run<SignResultJson>(call, "sign", input, { isServer: true });
  }

  /**
   * Verifies one item or a batch; a wrong signature is `verified: false`.
   * @throws spec_cannot_verify, `key_disabled`, `not_found`
   */
  verify(call: KeyCall, input: WithRefusedItems<VerifyInput>): Promise<Verified | JsonText<BatchJson<Verified>>> {
    return this.#run<Verified>(call, "verify", input);
  }

  /**
   * Encrypts one item or a batch. The result is JSON text, because ciphertexts are long.
   * @throws spec_cannot_encrypt, `key_disabled`, `not_found`, `message_too_long`
   */
  encrypt(
    call: KeyCall,
    input: WithRefusedItems<CipherBatchInput>,
  ): Promise<JsonText<Data> | JsonText<BatchJson<Data>>> {
    return this.#run<Data, JsonText<Data>>(call, "encrypt", input);
  }

  /**
   * Decrypts one item or a batch.
   * @throws decryption_failed for every frame that does not decrypt, whatever is wrong with it, `spec_cannot_decrypt`,
   * `key_disabled`, `not_found`
   */
  decrypt(call: KeyCall, input: WithRefusedItems<CipherBatchInput>): Promise<Data | JsonText<BatchJson<Data>>> {
    return this.#run<Data>(call, "decrypt", input);
  }

  /**
   * Re-encrypts one ciphertext or a batch under the key's present generation, for the same context. The plaintext does
   * not leave the worker.
   * @throws decryption_failed, `spec_cannot_decrypt`, `key_disabled`, `not_found`
   */
  rewrap(call: KeyCall, input: WithRefusedItems<RewrapInput>): Promise<JsonText<Data> | JsonText<BatchJson<Data>>> {
    return this.#run<Data, JsonText<Data>>(call, "rewrap", input);
  }

  /**
   * Agrees on a key with the holder of another key of the same curve.
   * @throws spec_cannot_agree, `key_disabled`, `not_found`, `public_key_invalid`
   */
  agree(call: KeyCall, input: WithRefusedItems<AgreeInput>): Promise<Agreed | JsonText<BatchJson<Agreed>>> {
    return this.#run<Agreed>(call, "agree", input);
  }

  /**
   * Proves that the vault has the private key of a BLS key.
   * @throws spec_cannot_prove_possession, `key_disabled`, `not_found`
   */
  provePossession(call: KeyCall): Promise<PossessionJson> {
    return this.#run<PossessionJson, PossessionJson>(call, "prove_possession", {}) as Promise<PossessionJson>;
  }

  async #run<Result, Single = Result>(
    call: KeyCall,
    operation: KeyOperation,
    input: BatchOf<OperationItem>,
    { isServer = false }: { readonly isServer?: boolean } = {},
  ): Promise<Single | JsonText<BatchJson<Result>>> {
    const { owner, vaultId, keyId } = call;
    this.#seal.requireUnsealed();
    const { vault, key } = this.#repository.findKeyInVault(owner, vaultId, keyId);
    // Whoever verifies learns nothing that the public key does not say.
    if (!isServer && operation !== "verify") requireForCallers(key.record.value);
    const { items, isBatch } = itemsOf<OperationItem>(input);
    const spec = keySpecNamed(key.reference.spec);
    const earlier = operation === "decrypt" || operation === "rewrap" ? this.#earlierGenerations(key, items) : NONE;
    const messageFor = (slice: readonly OperationItem[]): OperateMessage => ({
      vault: vault.reference,
      key: key.reference,
      operation,
      worker: isBatch ? "bulk" : workerKindFor(spec),
      earlier,
      items: slice,
    });
    const run = (slice: readonly OperationItem[]): Promise<readonly ItemOutcome[]> =>
      this.#seal.run("operate", messageFor(slice), keyId);
    // Each item that requests the next index of a wallet needs a commit of its own before its answer.
    const mayAdvance = operation === "sign" && spec.name === BIP39 && items.some(requestsNext);
    const next = (item: OperationItem): Promise<ItemOutcome> => this.#wallets.signNext(vault, key, item, run);
    const [only] = items;
    if (!isBatch && only !== undefined) return valueOf(mayAdvance ? await next(only) : (await run(items))[0]) as Single;
    const operationUs = mayAdvance ? Infinity : spec.operationUs;
    return joinedBatch<Result>(
      await runSlices(items, { operationUs, signal: call.signal }, async (slice) => {
        const [first] = slice;
        if (mayAdvance && first !== undefined && requestsNext(first)) return outcomesJson([await next(first)]);
        return await this.#seal.run("operate_batch", messageFor(slice), keyId);
      }),
    );
  }

  /** Returns the earlier generations that the frames of items name. */
  #earlierGenerations(key: FoundKey, items: readonly OperationItem[]): KeyReference[] {
    const numbers = new Set(items.map((item) => namedGeneration(item.data ?? item.message)));
    return [...numbers].flatMap((number) => {
      const earlier =
        number === undefined || number === key.reference.generation
          ? undefined
          : this.#repository.findGeneration(key, number);
      return earlier === undefined ? [] : [earlier];
    });
  }
}

function requestsNext(item: OperationItem): boolean {
  return item.options?.hdwallet?.next === true;
}

/** Reads the header only; the worker reads and checks the whole frame. */
function namedGeneration(text: OperationItem["message"]): number | undefined {
  if (typeof text !== "string") return undefined;
  const header = Buffer.alloc(FRAME_OVERHEAD_BYTES);
  Buffer.from(text.slice(0, HEADER_CHARACTERS).replace(/^0x/i, ""), "hex").copy(header);
  return frameGeneration(header);
}
