/**
 * `proofwright rotate-keys`: activates the next keys of access tokens and of id tokens and publishes others, also while
 * the server runs, which reads the files again within seconds; the nodes of a cluster get them by its log, at once. For
 * a leaked key, `--emergency` replaces all keys at once.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  ACCESS_TOKEN_KEY_FILE,
  ID_TOKEN_ALGORITHM,
  ID_TOKEN_KEY_FILE,
  openSigningKeys,
  type SigningKeys,
} from "../platform/auth/signing-keys.js";
import { systemClock } from "../platform/clock.js";
import type { Config } from "../platform/config.js";
import { AppError } from "../platform/errors.js";
import { createLog, type Log } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";
import { asNode } from "./cluster/as-node.js";
import { secretFile, type SecretFile } from "../platform/files/secret-file.js";

/**
 * Rotates or replaces the signing keys. Returns exit status 0.
 * @throws StartError when there are no keys, or the next key was not published for long enough
 */
export async function runRotateKeys(config: Config, options: { readonly emergency: boolean }): Promise<number> {
  const log = createLog("error");
  if (config.database_url !== undefined)
    return await asNode(config, { name: "rotate-keys", log }, async ({ secretOf }) => {
      if ((await secretOf(ACCESS_TOKEN_KEY_FILE).read()) === undefined)
        throw new StartError("the cluster has no signing keys yet: its first server makes them.");
      return await rotateKeysOf({ config, secretOf, log }, options);
    });
  const dataDir = resolve(config.data_dir);
  if (!existsSync(join(dataDir, ACCESS_TOKEN_KEY_FILE)))
    throw new StartError(`there are no signing keys in ${dataDir}.`);
  return await rotateKeysOf({ config, secretOf: (name) => secretFile(join(dataDir, name)), log }, options);
}

interface KeyPlaces {
  readonly config: Config;
  /** Returns a set of keys by the name of its file. */
  readonly secretOf: (name: string) => SecretFile;
  readonly log: Log;
}

async function rotateKeysOf(
  { config, secretOf, log }: KeyPlaces,
  options: { readonly emergency: boolean },
): Promise<number> {
  const dependencies = { clock: systemClock, log };
  const keys = await openSigningKeys(
    { file: secretOf(ACCESS_TOKEN_KEY_FILE), algorithm: config.signing_algorithm },
    dependencies,
  );
  const idTokenKeys = await openSigningKeys(
    { file: secretOf(ID_TOKEN_KEY_FILE), algorithm: ID_TOKEN_ALGORITHM },
    dependencies,
  );
  if (options.emergency) {
    await keys.replaceAll();
    await idTokenKeys.replaceAll();
    process.stdout.write(
      "All signing keys are replaced. Every access token is void; sessions continue with their refresh tokens.\n",
    );
    return 0;
  }
  const tooNew = await rotate(keys);
  if (tooNew !== undefined) throw new StartError(`${tooNew.message}.`, { cause: tooNew });
  tell("Tokens", keys);
  // A server that was just updated made these keys now; they are rotated the next time.
  if ((await rotate(idTokenKeys)) === undefined) tell("Id tokens", idTokenKeys);
  process.stdout.write("Old tokens stay valid until they expire.\n");
  return 0;
}

/** Rotates a set of keys. Returns the reason when its next key was not published for long enough. */
async function rotate(keys: SigningKeys): Promise<AppError | undefined> {
  try {
    await keys.rotate();
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === "conflict") return error;
    throw error;
  }
}

function tell(what: string, keys: SigningKeys): void {
  const [current, next] = keys.publicKeys();
  process.stdout.write(
    `${what} are signed with ${current?.kid ?? ""} (${current?.alg ?? ""}) from now on; ${next?.kid ?? ""} is published as the next.\n`,
  );
}
