/**
 * The `container_secret` provider: the phrase is in a file that the container runtime mounts. Group and others must
 * have no access to the file. Links are followed, because runtimes mount secrets through them. Not for machines that
 * others administer.
 */
import { open } from "node:fs/promises";
import { canonicalPhrase } from "../../../crypto/wallets/seal-phrase.js";
import { parseValidationHash } from "./environment.js";
import type { SealProvider } from "./provider.js";
import { SealProviderError } from "./provider-failure.js";

export interface ContainerSecretOptions {
  readonly path: string;
  /** 64 hex digits, with or without 0x. */
  readonly validationHash: string;
}

const NAME = "container_secret";
/** Many times the length of 24 words. */
const FILE_BYTES_MAX = 4096;
const OTHERS_MASK = 0o077;
const ROOT_UID = 0;

/** Returns the provider. Throws `invalid_request` for a malformed hash. */
export function containerSecretProvider(options: ContainerSecretOptions): SealProvider {
  return {
    name: NAME,
    isConfigured: true,
    validationHash: parseValidationHash(options.validationHash),
    issuesKeys: false,
    readKey: async () => await readPhrase(options.path),
  };
}

/** Returns the phrase in its canonical form, as bytes that the caller wipes. Throws SealProviderError. */
async function readPhrase(path: string): Promise<Uint8Array> {
  const text = await readSecret(path);
  try {
    const phrase = canonicalPhrase(text);
    if (phrase === undefined) throw failure(`${path} does not hold 24 words`);
    return phrase;
  } finally {
    text.fill(0);
  }
}

async function readSecret(path: string): Promise<Buffer> {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    throw failure(
      `the secret file ${path} cannot be read (${error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? "unknown error") : "unknown error"})`,
    );
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw failure(`${path} is not a regular file`);
    // Windows has no such bits; getuid exists everywhere else.
    if (process.getuid !== undefined) {
      if ((stats.mode & OTHERS_MASK) !== 0)
        throw failure(`${path} can be read by group or others: mount the secret with mode 0400 (or chmod 600)`);
      if (stats.uid !== process.getuid() && stats.uid !== ROOT_UID) throw failure(`${path} belongs to another user`);
    }
    if (stats.size > FILE_BYTES_MAX) throw failure(`${path} is too large to be a phrase`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function failure(message: string): SealProviderError {
  return new SealProviderError(message, { mayPass: true });
}
