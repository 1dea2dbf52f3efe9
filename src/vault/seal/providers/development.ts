/**
 * The seal key of development mode: a phrase file in the data folder, created on the first start, so that the server
 * unseals itself. Everyone who can read the file can open the vault, so it must not be used in production.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  canonicalPhrase,
  entropyPhrase,
  phraseEntropy,
  SEAL_ENTROPY_BYTES,
  validationHash,
} from "../../../crypto/wallets/seal-phrase.js";
import { AppError } from "../../../platform/errors.js";
import { createPrivateFile, readPrivateFile } from "../../../platform/files/private-file.js";
import type { SealProvider } from "./provider.js";

export const DEVELOPMENT_PHRASE_FILE = "development-seal-phrase";

/**
 * Creates the phrase file when it is missing and returns a provider over it.
 * @throws PrivateFileError when others can read the file, `vault_not_configured` when it holds no phrase
 */
export async function initialiseDevelopmentSeal(dataDir: string): Promise<SealProvider> {
  const path = join(dataDir, DEVELOPMENT_PHRASE_FILE);
  const text = (await readPrivateFile(path)) ?? (await createPhraseFile(path));
  return {
    name: "environment",
    isConfigured: true,
    validationHash: hashOf(text, path),
    issuesKeys: true,
    readKey: async () => await readPrivateFile(path),
  };
}

/** Creates the file and returns its content, which is another process's phrase when that process was first. */
async function createPhraseFile(path: string): Promise<Uint8Array> {
  const entropy = randomBytes(SEAL_ENTROPY_BYTES);
  const phrase = entropyPhrase(entropy);
  try {
    await createPrivateFile(path, phrase);
  } finally {
    entropy.fill(0);
    phrase.fill(0);
  }
  return (await readPrivateFile(path)) ?? new Uint8Array();
}

function hashOf(text: Uint8Array, path: string): Uint8Array {
  const canonical = canonicalPhrase(text);
  text.fill(0);
  const entropy = canonical === undefined ? undefined : phraseEntropy(canonical);
  if (canonical === undefined || entropy === undefined) {
    throw new AppError("vault_not_configured", {
      message: `the development seal key ${path} does not hold a phrase of 24 words`,
    });
  }
  entropy.fill(0);
  const hash = validationHash(canonical);
  canonical.fill(0);
  return hash;
}
