/**
 * The tasks of a vault worker: task name -> function over its keys (keys.ts describes the room). Failures are returned
 * as a union; messages of libraries, which may quote a secret, are never returned.
 */
import { randomBytes } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { canonicalPhrase, phraseEntropy, validationHash } from "../../crypto/wallets/seal-phrase.js";
import { AppError } from "../../platform/errors.js";
import { stackFrames } from "../../platform/stack-frames.js";
import { requireAbility } from "../key-specs/abilities.js";
import { FIRST_GENERATION } from "../keys/key-records.js";
import { blsAggregate, blsFastVerify, blsVerify, blsVerifyPossession } from "./bls-operations.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./record-wrapping.js";
import { handContentKey, handOver, handSignature } from "./hand-over.js";
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
import { WorkerKeys } from "./worker-keys.js";
import { jsonWebKeys, operate, operateBatch, verifyDetached } from "./operations.js";

const MASTER_KEY_BYTES = 32;
/** Hashed in place of a text that cannot be a phrase, so that both cases do the same work. */
const NO_PHRASE = new Uint8Array();

type TaskTable = {
  readonly [Name in VaultTaskName]: (
    message: VaultTasks[Name]["message"],
  ) => Promise<VaultTasks[Name]["value"]> | VaultTasks[Name]["value"];
};

/** Binds the tasks to a thread's keys. The returned function never throws. */
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
        const material = requireAbility(spec, "derive").derive(key, {
          vaultId: vault.vaultId,
          parentKeyId: parent.keyId,
          nonce,
          context,
        });
        return { envelope: keys.wrap(vault, { keyId, generation: FIRST_GENERATION }, spec, { material }).envelope };
      }),
    rotate_key: async ({ vault, key, generation }) => {
      // The present material is opened first, so that a damaged or disabled key is refused instead of replaced.
      keys.lend(vault, key, () => null);
      return {
        envelope: (await keys.create(vault, { keyId: key.keyId, generation }, keySpecNamed(key.spec), {})).envelope,
      };
    },
    ...cipherTasks(keys),
    ...handingTasks(keys),
    operate: (message) => operate(keys, message),
    operate_batch: (message) => operateBatch(keys, message),
    verify_detached: ({ items }) => verifyDetached(items),
    bls_aggregate: ({ signatures }) => blsAggregate(signatures),
    bls_verify: (message) => blsVerify(message),
    bls_fast_verify: (message) => blsFastVerify(message),
    bls_verify_possession: (message) => blsVerifyPossession(message),
    json_web_keys: ({ vault, keys: references }) => jsonWebKeys(keys, vault, references),
    hd_address: ({ vault, key, path }) => keys.lend(vault, key, (_spec, wallet) => hdAddress(wallet, path)),
    hd_xpub: ({ vault, key, account }) => keys.lend(vault, key, (_spec, wallet) => hdXpub(wallet, account)),
  };
}

/** Encryption of bytes for other areas, and secrets. */
function cipherTasks(keys: WorkerKeys): Pick<TaskTable, "encrypt" | "decrypt" | "seal_secret" | "open_secret"> {
  const { keyring } = keys;
  return {
    encrypt: ({ vault, key, data, context }) =>
      keys.lend(vault, key, (spec, unwrapped) =>
        exact(requireAbility(spec, "encrypt").encrypt(unwrapped, data, context)),
      ),
    decrypt: ({ vault, key, data, context }) =>
      keys.lend(vault, key, (spec, unwrapped) =>
        exact(requireAbility(spec, "decrypt").decrypt(unwrapped, data, context)),
      ),
    seal_secret: ({ vault, secret, value }) => {
      try {
        return {
          envelope: wrapRecord(keyring.wrappingKey(vault), secretPlace(vault, secret), value),
        };
      } finally {
        value.fill(0);
      }
    },
    open_secret: (stored) => exact(openSecret(keyring, stored)),
  };
}

/** Values for a proving thread. */
function handingTasks(keys: WorkerKeys): Pick<TaskTable, "hand_secret" | "hand_signature" | "hand_content_key"> {
  return {
    hand_secret: ({ to, ...stored }) => handOver(to, "secret", openSecret(keys.keyring, stored)),
    hand_signature: (message) => handSignature(keys, message),
    hand_content_key: (message) => handContentKey(keys, message),
  };
}

function openSecret(keyring: Keyring, { vault, secret, envelope }: VaultTasks["open_secret"]["message"]): Uint8Array {
  return unwrapRecord(envelope, (generation) => keyring.recordKey(vault, generation), secretPlace(vault, secret));
}

/** Checks a presented phrase against hash and sentinel, lends its entropy to a function, and wipes both. */
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
      // With a configured hash the key is valid but another store's; without one only the sentinel can decide.
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

/** Copies bytes into memory of their own: a view on a shared pool would take its neighbours along across threads. */
function exact(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
