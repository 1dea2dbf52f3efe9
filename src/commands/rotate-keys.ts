/**
 * `proofwright rotate-keys`: activates the next signing key and publishes another one, also while the server runs,
 * which reads the file again within seconds. For a leaked key, `--emergency` replaces all keys at once.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { openSigningKeys } from "../platform/auth/signing-keys.js";
import { systemClock } from "../platform/clock.js";
import type { Config } from "../platform/config.js";
import { AppError } from "../platform/errors.js";
import { createLog } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";

/**
 * Rotates or replaces the signing keys. Returns exit status 0.
 * @throws StartError when there are no keys, or the next key was not published for long enough
 */
export async function runRotateKeys(config: Config, options: { readonly emergency: boolean }): Promise<number> {
  const path = join(resolve(config.data_dir), "signing-keys.json");
  if (!existsSync(path)) throw new StartError(`there are no signing keys in ${resolve(config.data_dir)}.`);
  const keys = await openSigningKeys(
    { path, algorithm: config.signing_algorithm },
    { clock: systemClock, log: createLog("error") },
  );
  if (options.emergency) {
    await keys.replaceAll();
    process.stdout.write(
      "All signing keys are replaced. Every access token is void; sessions continue with their refresh tokens.\n",
    );
    return 0;
  }
  try {
    await keys.rotate();
  } catch (error) {
    if (error instanceof AppError && error.code === "conflict")
      throw new StartError(`${error.message}.`, { cause: error });
    throw error;
  }
  const [current, next] = keys.publicKeys();
  process.stdout.write(
    `Tokens are signed with ${current?.kid ?? ""} (${current?.alg ?? ""}) from now on; ${next?.kid ?? ""} is published as the next. Old tokens stay valid until they expire.\n`,
  );
  return 0;
}
