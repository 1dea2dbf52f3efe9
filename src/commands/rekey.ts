/**
 * `proofwright rekey`: gives a stopped server's store a new seal key, as one transaction. The phrases come from the
 * terminal or a pipe, never from arguments, which everybody on the machine can read.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { canonicalPhrase, phraseEntropy, validationHash } from "../crypto/wallets/seal-phrase.js";
import { openAuditKey } from "../platform/audit/audit-log.js";
import { AUDIT_CHAIN } from "../platform/audit/audit-event.js";
import { isoTimestamp, systemClock } from "../platform/clock.js";
import type { Config } from "../platform/config.js";
import { createLog } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";
import { openStore, rewriteStore } from "../platform/store/lmdb/lmdb-store.js";
import { rekeyStore } from "../vault/seal/rekey.js";
import { selectSealProvider } from "../vault/seal/providers/select-provider.js";
import { readPhrases } from "./read-phrases.js";

const OLD = "old seal key, 24 words";
const NEW = "new seal key, 24 words";

/**
 * Wraps all master keys under the new seal key and prints its validation hash. Returns exit status 0.
 * @throws StartError when there is no store, or a phrase is invalid or not a new one
 * @throws AppError `seal_key_rejected` when the old phrase is wrong
 */
export async function runRekey(config: Config): Promise<number> {
  const path = join(resolve(config.data_dir), "store");
  if (!existsSync(path)) throw new StartError(`there is no store in ${resolve(config.data_dir)}.`);
  const chainKey = await openAuditKey(resolve(config.data_dir));
  const isAutomatic = config.seal_unseal_provider !== undefined && config.seal_unseal_provider !== "environment";
  const given = await readPhrases(isAutomatic ? [NEW] : [OLD, NEW]);
  const newText = given.at(-1) ?? new Uint8Array();
  const oldText = isAutomatic ? await readFromProvider(config, path, chainKey) : (given[0] ?? new Uint8Array());
  const oldEntropy = entropyOf(oldText, OLD);
  const { entropy: newEntropy, hash } = newKey(newText);
  try {
    if (Buffer.compare(oldEntropy, newEntropy) === 0)
      throw new StartError("the new seal key is the same as the old one.");
    let vaults = 0;
    await rewriteStore({ path, chainKey }, (store) => {
      vaults = rekeyStore(store, { oldEntropy, newEntropy });
      store.append({
        chain: AUDIT_CHAIN,
        value: { at: isoTimestamp(systemClock.nowMs()), action: "seal.rekeyed", outcome: "ok", count: vaults },
      });
    });
    process.stdout.write(
      `The seal key is changed; ${String(vaults)} master keys were wrapped anew. From now on:\nSEAL_UNSEAL_VALIDATION_HASH=${hash}\n`,
    );
    if (isAutomatic)
      process.stdout.write(
        `Put the new words where ${config.seal_unseal_provider} reads them, or change the provider, before the next start.\n`,
      );
    return 0;
  } finally {
    oldEntropy.fill(0);
    newEntropy.fill(0);
  }
}

/** Reads the phrase that an automatic provider has. */
async function readFromProvider(config: Config, path: string, chainKey: Uint8Array): Promise<Uint8Array> {
  const log = createLog("error");
  const store = await openStore({ path, chainKey }, { log });
  try {
    const provider = await selectSealProvider({ settings: config }, { store, clock: systemClock, log });
    return (await provider.readKey()) ?? new Uint8Array();
  } finally {
    await store.close();
  }
}

function newKey(text: Uint8Array): { entropy: Uint8Array; hash: string } {
  const canonical = canonicalPhrase(text);
  const hash = `0x${Buffer.from(validationHash(canonical ?? new Uint8Array())).toString("hex")}`;
  canonical?.fill(0);
  return { entropy: entropyOf(text, NEW), hash };
}

/** Returns the 32 bytes of entropy of a phrase, and overwrites the text. */
function entropyOf(text: Uint8Array, what: string): Uint8Array {
  const canonical = canonicalPhrase(text);
  const entropy = canonical === undefined ? undefined : phraseEntropy(canonical);
  canonical?.fill(0);
  text.fill(0);
  if (entropy === undefined) throw new StartError(`the ${what}: this is not a phrase of 24 BIP-39 words.`);
  return entropy;
}
