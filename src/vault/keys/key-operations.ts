/**
 * Signing, verifying, encrypting, decrypting and agreeing with a vault's keys, one item or a batch. Finds the key under
 * its owner and leaves the rest to the worker; takes and gives the texts of the API.
 */
import type { Subject } from "../../platform/auth/principal.js";
import type { JsonText } from "../../platform/json/json-text.js";
import { frameGeneration, FRAME_HEADER_BYTES, FRAME_OVERHEAD_BYTES } from "../worker/ciphertext-frame.js";
import type { HdWallets } from "./hd-wallets.js";
import {
  answersJson,
  batchText,
  itemsOf,
  laneOf,
  runSlices,
  valueOf,
  type BatchJson,
} from "../threads/item-batches.js";
import { BIP39 } from "../key-specs/bip39.js";
import { keySpecNamed } from "../key-specs/table.js";
import type { AgreeInput, CipherBatchInput, SignInput, SignResultJson, VerifyInput } from "./operation-schemas.js";
import type { ItemOutcome, KeyOperation, KeyReference, OperateMessage } from "../protocol.js";
import type { FoundKey, VaultRepository } from "../repository.js";
import type { VaultSeal } from "../seal/seal.js";

export interface KeyOperationsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly wallets: HdWallets;
}

/** Which key, whose, and until when somebody waits. */
export interface KeyCall {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  readonly signal?: AbortSignal;
}

/**
 * The call of a request. Its signal is made when it is asked for, and most calls never do. A class, because a getter in
 * an object literal costs more than all that is around it.
 */
export class RequestedKeyCall implements KeyCall {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  readonly #request: { readonly signal: AbortSignal };

  constructor(request: { readonly signal: AbortSignal }, { owner, vaultId, keyId }: Omit<KeyCall, "signal">) {
    this.owner = owner;
    this.vaultId = vaultId;
    this.keyId = keyId;
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

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
/** 0x and the hex of a frame's header. */
const HEADER_CHARACTERS = 2 + 2 * FRAME_HEADER_BYTES;

export class KeyOperations {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #wallets: HdWallets;

  constructor(dependencies: KeyOperationsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#wallets = dependencies.wallets;
  }

  /** Throws `spec_cannot_sign`, `key_disabled`, `not_found`, and for a single item what is wrong with it. */
  sign(call: KeyCall, input: SignInput): Promise<SignResultJson | JsonText<BatchJson<SignResultJson>>> {
    return this.#run<SignResultJson>(call, "sign", input);
  }

  /** A wrong signature is `verified: false`. Throws `spec_cannot_verify`, `key_disabled`, `not_found`. */
  verify(call: KeyCall, input: VerifyInput): Promise<Verified | JsonText<BatchJson<Verified>>> {
    return this.#run<Verified>(call, "verify", input);
  }

  /** Ciphertexts are long, and come as JSON. */
  encrypt(call: KeyCall, input: CipherBatchInput): Promise<JsonText<Data> | JsonText<BatchJson<Data>>> {
    return this.#run<Data, JsonText<Data>>(call, "encrypt", input);
  }

  /** Every frame that does not open fails alike, with `decryption_failed`. */
  decrypt(call: KeyCall, input: CipherBatchInput): Promise<Data | JsonText<BatchJson<Data>>> {
    return this.#run<Data>(call, "decrypt", input);
  }

  agree(call: KeyCall, input: AgreeInput): Promise<Agreed | JsonText<BatchJson<Agreed>>> {
    return this.#run<Agreed>(call, "agree", input);
  }

  async #run<Result, Single = Result>(
    call: KeyCall,
    operation: KeyOperation,
    input: object,
  ): Promise<Single | JsonText<BatchJson<Result>>> {
    const { owner, vaultId, keyId } = call;
    this.#seal.requireUnsealed();
    const { vault, key } = this.#repository.findUsableKey(owner, vaultId, keyId);
    const { items, isBatch } = itemsOf<object>(input);
    const spec = keySpecNamed(key.reference.spec);
    const earlier = operation === "decrypt" ? this.#earlierGenerations(key, items) : NONE;
    const messageFor = (slice: readonly object[]): OperateMessage => ({
      vault: vault.reference,
      key: key.reference,
      operation,
      lane: isBatch ? "bulk" : laneOf(spec),
      earlier,
      items: slice,
    });
    const run = (slice: readonly object[]): Promise<readonly ItemOutcome[]> =>
      this.#seal.run("operate", messageFor(slice), keyId);
    // Each item that asks for the next index needs a commit of its own before its answer.
    const mayAdvance = operation === "sign" && spec.name === BIP39 && items.some((item) => asksForNext(item));
    const next = (item: object): Promise<ItemOutcome> => this.#wallets.signNext(vault, key, item, run);
    const [only] = items;
    if (!isBatch && only !== undefined) return valueOf<Single>(mayAdvance ? await next(only) : (await run(items))[0]);
    const operationUs = mayAdvance ? Infinity : spec.operationUs;
    return batchText<Result>(
      await runSlices(items, { operationUs, signal: call.signal }, async (slice) => {
        const [first] = slice;
        if (mayAdvance && first !== undefined && asksForNext(first)) return answersJson([await next(first)]);
        return await this.#seal.run("operate_batch", messageFor(slice), keyId);
      }),
    );
  }

  /** The generations that the frames of items name, where they are not the present one. */
  #earlierGenerations(key: FoundKey, items: readonly CipherBatchInput[]): KeyReference[] {
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

function asksForNext(item: SignInput): boolean {
  return item.options?.hdwallet?.next === true;
}

/** Only the header is read here; the worker reads and checks the whole. */
function namedGeneration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const header = Buffer.alloc(FRAME_OVERHEAD_BYTES);
  Buffer.from(text.slice(0, HEADER_CHARACTERS).replace(/^0x/i, ""), "hex").copy(header);
  return frameGeneration(header);
}
