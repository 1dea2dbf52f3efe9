/**
 * Profiles of the client command line: servers, and the tokens of who is logged in there. They lie in one file that its
 * user alone may read. A new file takes the place of the old one whole, so that a kill leaves one of the two.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { replaceFile } from "../../platform/files/durable-files.js";
import { StartError } from "../../platform/start-error.js";

export interface Profile {
  readonly server: string;
  readonly email: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly access_token: string;
  readonly expires_at_ms: number;
  /** Each use replaces it. */
  readonly refresh_token: string | null;
  /** The OAuth client that holds the session; absent after a login with a password. */
  readonly client_id?: string;
}

export interface ProfileFile {
  readonly format: 1;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const PROFILE_DEFAULT = "default";
const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const FILE_NAME = "profiles.json";
/** Rights of group and others. */
const OTHERS_RIGHTS = 0o077;

/** Returns the folder of the configuration (XDG Base Directory Specification: a relative path is ignored). */
export function configFolder(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CONFIG_HOME;
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), ".config"), "proofwright");
}

/**
 * Checks the name of a profile.
 * @throws StartError when it cannot be one
 */
export function requireProfileName(name: string): void {
  if (!PROFILE_NAME.test(name))
    throw new StartError(
      `"${name}" cannot name a profile: take up to 64 lower-case letters, digits, hyphens and underscores.`,
    );
}

/**
 * Reads the profiles; none where there is no file.
 * @throws StartError when others may read the file, or it is damaged
 */
export async function readProfiles(folder: string): Promise<ProfileFile> {
  const path = join(folder, FILE_NAME);
  let text: string;
  try {
    const { mode } = await stat(path);
    if (process.platform !== "win32" && (mode & OTHERS_RIGHTS) !== 0)
      throw new StartError(
        `${path} can be read by others. Run \`chmod 600 ${path}\`, and log in anew if somebody may have read it.`,
      );
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { format: 1, profiles: {} };
    throw error;
  }
  const file = parsedFile(text);
  if (file === undefined) throw new StartError(`${path} is damaged. Remove it and log in again.`);
  return file;
}

/** Stores a profile, or removes it when `profile` is undefined. The caller holds the lock of the profiles. */
export async function writeProfile(folder: string, name: string, profile: Profile | undefined): Promise<void> {
  const { profiles } = await readProfiles(folder);
  const others = Object.entries(profiles).filter(([other]) => other !== name);
  const file: ProfileFile = {
    format: 1,
    profiles: Object.fromEntries(profile === undefined ? others : [...others, [name, profile]]),
  };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${FILE_NAME}.${randomUUID()}`);
  try {
    await writeFile(unfinished, `${JSON.stringify(file, null, 2)}\n`, { flag: "wx", mode: 0o600, flush: true });
    await replaceFile(unfinished, join(folder, FILE_NAME));
  } finally {
    await rm(unfinished, { force: true });
  }
}

function parsedFile(text: string): ProfileFile | undefined {
  try {
    const file = JSON.parse(text) as Partial<ProfileFile> | null;
    if (file?.format !== 1 || typeof file.profiles !== "object") return undefined;
    return Object.values(file.profiles).every(isProfile) ? { format: 1, profiles: file.profiles } : undefined;
  } catch {
    return undefined;
  }
}

function isProfile(value: Partial<Profile> | null): boolean {
  return (
    typeof value?.server === "string" &&
    typeof value.email === "string" &&
    typeof value.session_id === "string" &&
    typeof value.access_token === "string" &&
    typeof value.expires_at_ms === "number"
  );
}
