/**
 * `proofwright rekey`: gives a stopped server's store a new seal key, as one transaction, or a cluster, whose nodes may
 * run meanwhile. The phrases come from the terminal or a pipe, never from arguments, which everybody on the machine can
 * read.
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
import type { Store, StoreAppend } from "../platform/store/store.js";
import { rekeyCluster } from "../vault/seal/rekey-cluster.js";
import { rekeyStore } from "../vault/seal/rekey.js";
import { selectSealProvider } from "../vault/seal/providers/select-provider.js";
import { asNode } from "./cluster/as-node.js";
import { readPhrases } from "./read-phrases.js";

const OLD = "old seal key, 24 words";
const NEW = "new seal key, 24 words";

/**
 * Wraps all master keys under the new seal key and prints its validation hash. Returns exit status 0.
 * @throws StartError when there is no store, or a phrase is invalid or not a new one
 * @throws AppError `seal_key_rejected` when the old phrase is wrong
 */
export async function runRekey(config: Config): Promise<number> {
  const isAutomatic = config.seal_unseal_provider !== undefined && config.seal_unseal_provider !== "environment";
  if (config.database_url === undefined) requireStore(config);
  const given = await readPhrases(isAutomatic ? [NEW] : [OLD, NEW]);
  const { entropy: newEntropy, hash } = newKey(given.at(-1) ?? new Uint8Array());
  const oldOf = async (open: () => Promise<Store>): Promise<Uint8Array> => {
    const text = isAutomatic ? await readFromProvider(config, await open()) : (given[0] ?? new Uint8Array());
    const entropy = entropyOf(text, OLD);
    if (Buffer.compare(entropy, newEntropy) !== 0) return entropy;
    entropy.fill(0);
    throw new StartError("the new seal key is the same as the old one.");
  };
  try {
    const rekey = config.database_url === undefined ? rekeySingle : rekeyNodes;
    const vaults = await rekey(config, { oldOf, newEntropy });
    process.stdout.write(
      `The seal key is changed; ${String(vaults)} master keys were wrapped anew. From now on:\nSEAL_UNSEAL_VALIDATION_HASH=${hash}\n`,
    );
    if (isAutomatic)
      process.stdout.write(
        `Put the new words where ${config.seal_unseal_provider} reads them, or change the provider, before the next start.\n`,
      );
    if (config.database_url !== undefined)
      process.stdout.write("All nodes are sealed: give each the new key, and start it anew or unseal it.\n");
    return 0;
  } finally {
    newEntropy.fill(0);
  }
}

interface RekeyParts {
  /** Reads the old key, for which a provider needs the store; the caller wipes it. */
  readonly oldOf: (open: () => Promise<Store>) => Promise<Uint8Array>;
  readonly newEntropy: Uint8Array;
}

function storeOf(config: Config): string {
  return join(resolve(config.data_dir), "store");
}

function requireStore(config: Config): void {
  if (!existsSync(storeOf(config))) throw new StartError(`there is no store in ${resolve(config.data_dir)}.`);
}

/** Rekeys the store of a stopped server. Returns the number of its vaults. */
async function rekeySingle(config: Config, { oldOf, newEntropy }: RekeyParts): Promise<number> {
  const path = storeOf(config);
  const chainKey = await openAuditKey(resolve(config.data_dir));
  let opened: Store | undefined;
  const open = async (): Promise<Store> => (opened = await openStore({ path, chainKey }, { log: createLog("error") }));
  const oldEntropy = await oldOf(open).finally(() => opened?.close());
  try {
    let vaults = 0;
    await rewriteStore({ path, chainKey }, (rewritten) => {
      vaults = rekeyStore(rewritten, { oldEntropy, newEntropy });
      rewritten.append(auditedAs(vaults));
    });
    return vaults;
  } finally {
    oldEntropy.fill(0);
  }
}

/** Rekeys a cluster, whose nodes seal themselves. Returns the number of vaults. */
async function rekeyNodes(config: Config, { oldOf, newEntropy }: RekeyParts): Promise<number> {
  return await asNode(config, { name: "rekey", log: createLog("error") }, async ({ store }) => {
    const oldEntropy = await oldOf(() => Promise.resolve(store));
    try {
      return await rekeyCluster(store, { oldEntropy, newEntropy, audited: auditedAs });
    } finally {
      oldEntropy.fill(0);
    }
  });
}

function auditedAs(vaults: number): StoreAppend {
  const at = isoTimestamp(systemClock.nowMs());
  return { chain: AUDIT_CHAIN, value: { at, action: "seal.rekeyed", outcome: "ok", count: vaults } };
}

/** Reads the phrase that an automatic provider has. */
async function readFromProvider(config: Config, store: Store): Promise<Uint8Array> {
  const provider = await selectSealProvider(
    { settings: config },
    { store, clock: systemClock, log: createLog("error") },
  );
  return (await provider.readKey()) ?? new Uint8Array();
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
