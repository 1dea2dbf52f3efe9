/**
 * What the vault worker does: task name -> function over its keys. Failures come back as a union; texts of libraries,
 * which may have seen a secret, never do.
 */
import { randomBytes } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { canonicalPhrase, phraseEntropy, validationHash } from "../../crypto/wallets/seal-phrase.js";
import { AppError, type ErrorCode } from "../../platform/errors.js";
import { stackFrames } from "../../platform/stack-frames.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./record-wrapping.js";
import { deriveSentinel } from "./key-hierarchy.js";
import type { KeyObjects } from "./key-objects.js";
import { hdAddress, hdXpub } from "../key-specs/bip39.js";
import { keySpecNamed } from "../key-specs/table.js";
import type { Keyring } from "./keyring.js";
import type {
  PhraseCheck,
  SecretReference,
  VaultReference,
  VaultRequest,
  VaultTaskName,
  VaultTaskResult,
  VaultTasks,
} from "../protocol.js";
import { FIRST_GENERATION, WorkerKeys } from "./keys.js";
import { blsAggregate, blsVerify, jsonWebKeys, operate, operateBatch, verifyDetached } from "./operations.js";

const MASTER_KEY_BYTES = 32;
/** Hash of no phrase: what a text that cannot be a phrase is compared by, so that both ways do the same work. */
const NO_PHRASE = new Uint8Array();

type TaskTable = {
  readonly [Name in VaultTaskName]: (
    message: VaultTasks[Name]["message"],
  ) => Promise<VaultTasks[Name]["value"]> | VaultTasks[Name]["value"];
};

/** Binds the tasks to a thread's keys; the function that comes back never throws. */
export function createVaultTasks(
  keyring: Keyring,
  keyObjects: KeyObjects,
): (request: VaultRequest) => Promise<VaultTaskResult<unknown>> {
  const tasks = taskTable(new WorkerKeys(keyring, keyObjects));
  return async (request) => {
    try {
      const run = tasks[request.task] as (message: unknown) => unknown;
      return { ok: true, value: await run(request.message) };
    } catch (error) {
      if (error instanceof AppError) return { ok: false, code: error.code, message: error.message };
      const frames = stackFrames(error);
      return {
        ok: false,
        code: "internal_error",
        message: "the vault operation failed",
        ...(frames === undefined ? {} : { frames }),
      };
    }
  };
}

function taskTable(keys: WorkerKeys): TaskTable {
  const { keyring } = keys;
  return {
    unseal: (check) =>
      withCheckedPhrase(check, (entropy, sentinel) => {
        keyring.unlock(entropy, check.storeId);
        return { sentinel };
      }),
    check_phrase: (check) => withCheckedPhrase(check, () => null),
    lock: () => {
      keys.lock();
      return null;
    },
    forget_vault: ({ vaultId }) => {
      keys.forgetVault(vaultId);
      return null;
    },
    create_master: (vault) => {
      const masterKey = randomBytes(MASTER_KEY_BYTES);
      try {
        return { envelope: keyring.wrapMasterKey(vault, masterKey) };
      } finally {
        masterKey.fill(0);
      }
    },
    create_key: async ({ vault, keyId, spec, options }) =>
      await keys.create(vault, { keyId, generation: FIRST_GENERATION }, keySpecNamed(spec), options),
    derive_key: ({ vault, parent, keyId, nonce, context }) =>
      keys.lend(vault, parent, (spec, key) => {
        if (spec.derive === undefined) throw incapable("spec_cannot_derive", "derivation");
        const material = spec.derive(key, { vaultId: vault.vaultId, parentKeyId: parent.keyId, nonce, context });
        return { envelope: keys.wrap(vault, { keyId, generation: FIRST_GENERATION }, spec, { material }).envelope };
      }),
    rotate_key: async ({ vault, key, generation }) => {
      // Opening the present material first: a damaged or disabled key is refused, not papered over.
      keys.lend(vault, key, () => null);
      return {
        envelope: (await keys.create(vault, { keyId: key.keyId, generation }, keySpecNamed(key.spec), {})).envelope,
      };
    },
    ...cipherTasks(keys),
    operate: (message) => operate(keys, message),
    operate_batch: (message) => operateBatch(keys, message),
    verify_detached: ({ items }) => verifyDetached(items),
    bls_aggregate: ({ signatures }) => blsAggregate(signatures),
    bls_verify: (message) => blsVerify(message),
    json_web_keys: ({ vault, keys: references }) => jsonWebKeys(keys, vault, references),
    hd_address: ({ vault, key, path }) => keys.lend(vault, key, (_spec, wallet) => hdAddress(wallet, path)),
    hd_xpub: ({ vault, key, account }) => keys.lend(vault, key, (_spec, wallet) => hdXpub(wallet, account)),
  };
}

/** What other areas encrypt with their keys, the moving of ciphertexts between generations, and secrets. */
function cipherTasks(
  keys: WorkerKeys,
): Pick<TaskTable, "rewrap" | "encrypt" | "decrypt" | "seal_secret" | "open_secret"> {
  const { keyring } = keys;
  return {
    rewrap: ({ vault, from, to, data, context }) => {
      const plaintext = keys.lend(vault, from, (spec, key) => {
        if (spec.decrypt === undefined) throw incapable("spec_cannot_decrypt", "decryption");
        return spec.decrypt(key, data, context);
      });
      try {
        return keys.lend(vault, to, (spec, key) => {
          if (spec.encrypt === undefined) throw incapable("spec_cannot_encrypt", "encryption");
          return exact(spec.encrypt(key, plaintext, context));
        });
      } finally {
        plaintext.fill(0);
      }
    },
    encrypt: ({ vault, key, data, context }) =>
      keys.lend(vault, key, (spec, unwrapped) => {
        if (spec.encrypt === undefined) throw incapable("spec_cannot_encrypt", "encryption");
        return exact(spec.encrypt(unwrapped, data, context));
      }),
    decrypt: ({ vault, key, data, context }) =>
      keys.lend(vault, key, (spec, unwrapped) => {
        if (spec.decrypt === undefined) throw incapable("spec_cannot_decrypt", "decryption");
        return exact(spec.decrypt(unwrapped, data, context));
      }),
    seal_secret: ({ vault, secret, value }) => {
      try {
        return {
          envelope: wrapRecord(
            keyring.recordKey(vault, vault.generation),
            vault.generation,
            secretPlace(vault, secret),
            value,
          ),
        };
      } finally {
        value.fill(0);
      }
    },
    open_secret: ({ vault, secret, envelope }) =>
      exact(unwrapRecord(envelope, (generation) => keyring.recordKey(vault, generation), secretPlace(vault, secret))),
  };
}

/** Checks a presented phrase against hash and sentinel, lends its entropy, and overwrites both. */
function withCheckedPhrase<T>(check: PhraseCheck, use: (entropy: Uint8Array, sentinel: Uint8Array) => T): T {
  const canonical = canonicalPhrase(check.phrase);
  let entropy: Uint8Array | undefined;
  try {
    entropy = canonical === undefined ? undefined : phraseEntropy(canonical);
    const hash = validationHash(canonical ?? NO_PHRASE);
    const hashFits = check.validationHash === null || equalBytes(hash, check.validationHash);
    if (entropy === undefined || !hashFits)
      throw new AppError("seal_key_rejected", { message: "the seal key was not accepted" });
    const sentinel = deriveSentinel(entropy, check.storeId);
    if (check.sentinel !== null && !equalBytes(sentinel, check.sentinel)) {
      // With a hash configured the key is the right one of another store; without one the sentinel is all that tells.
      if (check.validationHash === null)
        throw new AppError("seal_key_rejected", { message: "the seal key was not accepted" });
      throw new AppError("seal_key_mismatch", {
        message: "the configured seal key is not the one that this store was initialised with",
      });
    }
    return use(entropy, sentinel);
  } finally {
    canonical?.fill(0);
    entropy?.fill(0);
    check.phrase.fill(0);
  }
}

function secretPlace(vault: VaultReference, secret: SecretReference): EnvelopePlace {
  return {
    purpose: "secret",
    vaultId: vault.vaultId,
    recordId: secret.secretId,
    metadata: { name: secret.name, type: secret.type },
  };
}

function incapable(code: ErrorCode, ability: string): AppError {
  return new AppError(code, { message: `key does not support ${ability}` });
}

/** A copy that owns its memory: a view on a shared pool would carry its neighbours along when it crosses threads. */
function exact(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
