/**
 * The part that key-management services share: a seal key that is generated once, stored as the service's ciphertext,
 * and decrypted by the service at each start. It is stored only if absent: of several first starts one wins, and the
 * others use its key.
 */
import {
  canonicalPhrase,
  entropyPhrase,
  phraseEntropy,
  SEAL_ENTROPY_BYTES,
  validationHash,
} from "../../../crypto/wallets/seal-phrase.js";
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import type { Log } from "../../../platform/log.js";
import { StoreConflict, type Store, type StoreKey } from "../../../platform/store/store.js";
import { parseValidationHash } from "./environment.js";
import type { SealProvider } from "./provider.js";
import { bounded, SealProviderError } from "./provider-failure.js";
import { SENTINEL_KEY } from "../sentinel.js";

/** The operations of a service on a data key. They reject with the SDK's errors. */
export interface KeyService {
  /** Returns a fresh 32-byte key, in plain and as ciphertext that only the service can decrypt. */
  generate(signal: AbortSignal): Promise<{ readonly plaintext: Uint8Array; readonly ciphertext: Uint8Array }>;
  decrypt(ciphertext: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Closes connections. */
  close(): void;
}

export interface WrappedKeyOptions {
  readonly name: string;
  /** The configured key of the service that wraps the seal key. */
  readonly keyId: string;
  readonly validationHash?: string | undefined;
  readonly timeoutMs: number;
}

export interface SealProviderDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** A type, not an interface, so that it is a StoreValue. */
type WrappedKeyRecord = {
  readonly provider: string;
  readonly key_id: string;
  readonly ciphertext: string;
  readonly created_at: string;
};

export const WRAPPED_KEY: StoreKey = ["seal", "wrapped_key"];

/**
 * Returns a provider over a key-management service.
 * @param connect loads the SDK and creates its client; called at each unsealing, so that credentials are read again
 */
export function wrappedKeyProvider(
  options: WrappedKeyOptions,
  dependencies: SealProviderDependencies,
  connect: () => Promise<KeyService>,
): SealProvider {
  const hash = options.validationHash === undefined ? undefined : parseValidationHash(options.validationHash);
  return {
    name: options.name,
    isConfigured: true,
    validationHash: hash,
    issuesKeys: false,
    readKey: async () =>
      await bounded(options.name, options.timeoutMs, async (signal) => {
        const service = await connect();
        try {
          const record =
            readRecord(options.name, dependencies.store) ??
            (await createRecord(options, dependencies, service, signal));
          const entropy = await service.decrypt(Buffer.from(record.ciphertext, "base64"), signal);
          return takePhrase(options.name, entropy);
        } finally {
          service.close();
        }
      }),
  };
}

function readRecord(name: string, store: Store): WrappedKeyRecord | undefined {
  const record = store.get<WrappedKeyRecord>(WRAPPED_KEY)?.value;
  if (record !== undefined && record.provider !== name) {
    throw new SealProviderError(
      `the seal key of this store was made with the provider ${record.provider}, not ${name}`,
      { mayPass: false },
    );
  }
  return record;
}

async function createRecord(
  options: WrappedKeyOptions,
  { store, clock, log }: SealProviderDependencies,
  service: KeyService,
  signal: AbortSignal,
): Promise<WrappedKeyRecord> {
  if (store.get(SENTINEL_KEY) !== undefined) {
    throw new SealProviderError(
      `this store was initialised with another seal key, which ${options.name} does not hold`,
      { mayPass: false },
    );
  }
  if (options.validationHash !== undefined) {
    throw new SealProviderError(
      `${options.name} makes its own seal key on the first start: leave SEAL_UNSEAL_VALIDATION_HASH out`,
      { mayPass: false },
    );
  }
  const { plaintext, ciphertext } = await service.generate(signal);
  const phrase = takePhrase(options.name, plaintext);
  const hash = Buffer.from(validationHash(phrase)).toString("hex");
  phrase.fill(0);
  const record: WrappedKeyRecord = {
    provider: options.name,
    key_id: options.keyId,
    ciphertext: Buffer.from(ciphertext).toString("base64"),
    created_at: isoTimestamp(clock.nowMs()),
  };
  try {
    await store.commit({
      checks: [{ key: WRAPPED_KEY, version: "absent" }],
      puts: [{ key: WRAPPED_KEY, value: record }],
    });
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
    const theirs = readRecord(options.name, store);
    if (theirs === undefined) throw error;
    return theirs;
  }
  log.info(`made a seal key with ${options.name}; its validation hash is 0x${hash}`);
  return record;
}

/** Returns the phrase of 32 bytes of entropy, which are overwritten. */
function takePhrase(name: string, entropy: Uint8Array): Uint8Array {
  try {
    if (entropy.length !== SEAL_ENTROPY_BYTES)
      throw new SealProviderError(
        `the seal provider ${name} returned a key of ${String(entropy.length)} bytes, not ${String(SEAL_ENTROPY_BYTES)}`,
        { mayPass: false },
      );
    return entropyPhrase(entropy);
  } finally {
    entropy.fill(0);
  }
}

/** Whether these bytes are a phrase with a right checksum. */
export function isPhrase(text: Uint8Array): boolean {
  const canonical = canonicalPhrase(text);
  const entropy = canonical === undefined ? undefined : phraseEntropy(canonical);
  canonical?.fill(0);
  entropy?.fill(0);
  return entropy !== undefined;
}
