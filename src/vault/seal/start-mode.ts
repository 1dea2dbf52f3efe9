/**
 * Keeps the two kinds of data folders apart for good: one that served in production never gets a seal key of
 * development mode, which lies beside the data that it opens, and a store whose seal key is such a key is not taken
 * into production. A lost setting, such as an unset variable of a compose file, must not turn the one into the other.
 *
 * What decides is in the store, so that a copy of the store, a restored backup and another node decide alike.
 */
import { join } from "node:path";
import { equalBytes } from "../../crypto/constant-time.js";
import { canonicalPhrase, phraseEntropy, validationHash } from "../../crypto/wallets/seal-phrase.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { readPrivateFile } from "../../platform/files/private-file.js";
import { StartError } from "../../platform/start-error.js";
import { retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreKey } from "../../platform/store/store.js";
import { deriveSentinel } from "../worker/key-hierarchy.js";
import { DEVELOPMENT_PHRASE_FILE } from "./providers/development.js";
import { parseValidationHash } from "./providers/environment.js";
import { SealSentinel, type StoreIdentity } from "./sentinel.js";

/** How a server is about to open a store. */
export interface SealStart {
  readonly mode: "development" | "production";
  /** True when the server would make and keep its seal key itself, which it does in development mode only. */
  readonly makesOwnKey: boolean;
  /** The folder of the phrase that development mode makes. */
  readonly dataDir: string;
  /** The configured SEAL_UNSEAL_VALIDATION_HASH. */
  readonly validationHash?: string | undefined;
}

/** `production` stays for good; `development`, of a store with a key of its own, until the store is rekeyed. */
export const SEAL_MODE_KEY: StoreKey = ["seal", "mode"];

/** A type, not an interface, so that it is a StoreValue. */
export type SealModeRecord = { readonly mode: SealStart["mode"]; readonly since: string };

/**
 * Refuses a start in the wrong mode, before any key is made or read, and remembers the mode of an allowed one.
 * @throws StartError with the way out, for development mode on a store that was opened in production or has another
 *   seal key than the folder's phrase, and for production on a store whose seal key development mode made
 */
export async function admitSealStart(
  start: SealStart,
  dependencies: { readonly store: Store; readonly clock: Clock },
): Promise<void> {
  const { store, clock } = dependencies;
  await retryOnConflict(async () => {
    const record = store.get<SealModeRecord>(SEAL_MODE_KEY);
    // The first start in production looked at the key; since then it changes by `rekey` alone.
    if (start.mode === "production" && record?.value.mode === "production") return;
    const identity = new SealSentinel(dependencies).read();
    const phrase = await developmentPhrase(start.dataDir, identity);
    const findings = { identity, phrase, remembered: record?.value.mode };
    if (start.mode === "production") refuseDevelopmentKey(start, findings);
    else refuseDevelopmentMode(start, findings);
    const mode = start.makesOwnKey ? "development" : start.mode === "production" ? "production" : undefined;
    if (mode === undefined || mode === record?.value.mode) return;
    const next: SealModeRecord = { mode, since: isoTimestamp(clock.nowMs()) };
    await store.commit({
      checks: [{ key: SEAL_MODE_KEY, version: record?.version ?? "absent" }],
      puts: [{ key: SEAL_MODE_KEY, value: next }],
      urgent: true,
    });
  });
}

/** What is known of the store and of the phrase in its folder. */
interface Findings {
  readonly identity: StoreIdentity;
  readonly phrase: DevelopmentPhrase | undefined;
  readonly remembered: SealStart["mode"] | undefined;
}

interface DevelopmentPhrase {
  readonly hash: Uint8Array;
  /** Whether it is the seal key of the store; false before the first unsealing. */
  readonly opensStore: boolean;
}

function refuseDevelopmentMode(start: SealStart, { identity, phrase, remembered }: Findings): void {
  const way =
    "Give the server its SEAL_UNSEAL_ settings (or PROOFWRIGHT_MODE=production), or choose another data folder.";
  if (remembered === "production")
    throw new StartError(
      `${start.dataDir} has served in production, so that development mode, which unseals itself, is refused on it. ${way}`,
    );
  // A copy of a store of development mode comes without its phrase; it stays sealed, and nothing is lost by that.
  const isOfDevelopment = remembered === "development" || phrase?.opensStore === true;
  if (start.makesOwnKey && identity.sentinel !== null && !isOfDevelopment)
    throw new StartError(
      `The store in ${start.dataDir} has a seal key that development mode did not make, so that development mode is refused on it. ${way}`,
    );
}

function refuseDevelopmentKey(start: SealStart, { identity, phrase, remembered }: Findings): void {
  const isStoreKey = identity.sentinel !== null && (remembered === "development" || phrase?.opensStore === true);
  const configured = start.validationHash === undefined ? undefined : parseValidationHash(start.validationHash);
  const isConfigured = phrase !== undefined && configured !== undefined && equalBytes(phrase.hash, configured);
  if (isStoreKey || isConfigured)
    throw new StartError(
      `The seal key of ${start.dataDir} was made by development mode and has lain beside the data in ${DEVELOPMENT_PHRASE_FILE}, so that production is refused with it. Give the stopped server another key with \`proofwright rekey\`, or choose another data folder.`,
    );
}

/** Reads the phrase that development mode left; undefined when there is none. */
async function developmentPhrase(dataDir: string, identity: StoreIdentity): Promise<DevelopmentPhrase | undefined> {
  const text = await readPrivateFile(join(dataDir, DEVELOPMENT_PHRASE_FILE));
  if (text === undefined) return undefined;
  const canonical = canonicalPhrase(text);
  text.fill(0);
  if (canonical === undefined) return undefined;
  const entropy = phraseEntropy(canonical);
  const hash = validationHash(canonical);
  canonical.fill(0);
  if (entropy === undefined) return undefined;
  const opensStore =
    identity.sentinel !== null && equalBytes(deriveSentinel(entropy, identity.storeId), identity.sentinel);
  entropy.fill(0);
  return { hash, opensStore };
}
