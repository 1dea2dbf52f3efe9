/**
 * The `container_secret` provider: the phrase is in a file that the container runtime mounts. Its group may read the
 * file, because Kubernetes gives a server that is not root its secrets through a group (`fsGroup`: root's file, mode
 * 0440); nobody else may, and nobody but the owner may write it. Links are followed and their target is judged, because
 * Kubernetes mounts secrets through links (`phrase` -> `..data/phrase`, `..data` -> a dated folder) and replaces the
 * inner one at each change. Not for machines that others administer.
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
const OTHERS_MASK = 0o007;
/** Writing and executing; reading is allowed. */
const GROUP_CHANGE_MASK = 0o030;
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
      const fault = faultOf(stats, process.getuid());
      if (fault !== undefined) throw failure(`${path} ${fault}`);
    }
    if (stats.size > FILE_BYTES_MAX) throw failure(`${path} is too large to be a phrase`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Returns what is wrong with the owner or mode of the file; undefined when only root and the server can change it. */
function faultOf({ mode, uid }: { readonly mode: number; readonly uid: number }, ownUid: number): string | undefined {
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  if ((mode & OTHERS_MASK) !== 0)
    return `is open to every user (mode ${shown}): mount the secret with mode 0400, or 0440 where a group reads it`;
  if ((mode & GROUP_CHANGE_MASK) !== 0)
    return `can be changed by its group (mode ${shown}): mount the secret with mode 0400 or 0440`;
  return uid === ownUid || uid === ROOT_UID ? undefined : "belongs to another user than root or the server's";
}

function failure(message: string): SealProviderError {
  return new SealProviderError(message, { mayPass: true });
}
