/**
 * The manifest of a backup, written last: what the backup is of, and length and SHA-256 of every file. It detects what
 * was cut off, damaged or exchanged. Whoever may write to the backup can write a manifest as well, so that `backup`
 * prints the manifest's own hash, to be kept elsewhere.
 *
 *   manifest.json
 *   store/data.mdb
 *   artifacts/sha256/<first two hex digits>/<64 hex digits>
 *   keys/<name of the key file>      of development mode; in production in a folder of their own, with its own manifest
 */
import { lstat, readFile, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import { AUDIT_KEY_FILE } from "../../platform/audit/audit-log.js";
import { ACCESS_TOKEN_KEY_FILE, ID_TOKEN_KEY_FILE } from "../../platform/auth/signing-keys.js";
import { REQUEST_HASH_KEY_FILE, SUBSCRIPTION_KEY_FILE } from "../../platform/files/data-folder.js";
import { StartError } from "../../platform/start-error.js";
import { DEVELOPMENT_PHRASE_FILE } from "../../vault/seal/providers/development.js";
import { hashFile } from "../hash-file.js";

/** The format that this program writes. Format 1 had the files alone, and no keys. */
export const MANIFEST_FORMAT = 2;
export const MANIFEST_FILE = "manifest.json";
/** Some 200 bytes for each of a million artifacts. */
const MANIFEST_BYTES_MAX = 256 * 1024 ** 2;

/** Keys of the server's own: who has them can make tokens, or change the audit log without a trace. */
export const SERVER_KEY_FILES: readonly string[] = [
  AUDIT_KEY_FILE,
  ACCESS_TOKEN_KEY_FILE,
  ID_TOKEN_KEY_FILE,
  SUBSCRIPTION_KEY_FILE,
  REQUEST_HASH_KEY_FILE,
];

/** Every path that a backup may have, so that a manifest can name no other place. */
const PATH = new RegExp(
  `^(store/data\\.mdb|artifacts/sha256/([0-9a-f]{2})/\\2[0-9a-f]{62}|keys/(${[
    ...SERVER_KEY_FILES,
    DEVELOPMENT_PHRASE_FILE,
  ]
    .map((name) => name.replace(".", "\\."))
    .join("|")}))$`,
);

const Entry = Type.Object(
  {
    path: Type.String({ maxLength: 200 }),
    bytes: Type.Integer({ minimum: 0 }),
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  },
  { additionalProperties: false },
);
const Manifest = Type.Object(
  {
    format: Type.Integer({ minimum: 1, maximum: MANIFEST_FORMAT }),
    /** `keys`: a folder with the server's keys alone, which lies apart from the backup. */
    kind: Type.Optional(Type.Union([Type.Literal("backup"), Type.Literal("keys")])),
    created_at: Type.Optional(Type.String({ maxLength: 40 })),
    /** Version of the program that wrote it. */
    program: Type.Optional(Type.String({ maxLength: 100 })),
    schema_version: Type.Optional(Type.Integer({ minimum: 1 })),
    /** Null before the first unsealing. */
    store_id: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
    /** Whether the seal key is among the files, which it is of development mode alone. */
    holds_seal_key: Type.Optional(Type.Boolean()),
    files: Type.Array(Entry),
  },
  { additionalProperties: false },
);
const manifestForm = Compile(Manifest);

export type BackupManifest = Static<typeof Manifest>;
export type ManifestEntry = Static<typeof Entry>;

/** Returns length and hash of every file of a folder but its manifest, sorted by path. */
export async function describeFiles(folder: string): Promise<ManifestEntry[]> {
  const entries: ManifestEntry[] = [];
  for (const path of await pathsIn(folder)) entries.push({ path, ...(await hashFile(join(folder, path))) });
  return entries;
}

/**
 * Reads a manifest and compares the list of its files with the folder's; the content of the files is not read.
 * @returns the manifest, and the SHA-256 of its file in lower-case hex
 * @throws StartError when the manifest is missing, damaged, of a newer program, or names other files than there are
 */
export async function readManifest(folder: string): Promise<{ manifest: BackupManifest; sha256: string }> {
  const path = join(folder, MANIFEST_FILE);
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() !== true)
    throw new StartError(`${folder} is no complete backup: it has no ${MANIFEST_FILE}, which a backup writes last.`);
  if (stats.size > MANIFEST_BYTES_MAX) throw new StartError(`${path} is too long to be the manifest of a backup.`);
  const { sha256 } = await hashFile(path);
  const manifest = parseManifest(await readFile(path, "utf8"), path);
  await compareNames(folder, manifest);
  return { manifest, sha256 };
}

function parseManifest(text: string, path: string): BackupManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StartError(`${path} is damaged: it is not JSON. Take another copy of the backup.`);
  }
  const format = typeof value === "object" && value !== null && "format" in value ? value.format : undefined;
  if (typeof format === "number" && format > MANIFEST_FORMAT)
    throw new StartError(
      `${path} has format ${String(format)}, and this program reads up to ${String(MANIFEST_FORMAT)}: restore with the newer version of the program that wrote it.`,
    );
  if (!manifestForm.Check(value)) throw new StartError(`${path} does not have the form of a manifest.`);
  const strange = value.files.find((entry) => !PATH.test(entry.path));
  if (strange !== undefined)
    throw new StartError(`${path} names ${JSON.stringify(strange.path)}, which is no file of a backup.`);
  if (new Set(value.files.map((entry) => entry.path)).size !== value.files.length)
    throw new StartError(`${path} names a file twice.`);
  return value;
}

async function compareNames(folder: string, { files }: BackupManifest): Promise<void> {
  const named = new Set(files.map(({ path }) => path));
  const present = await pathsIn(folder);
  const extra = present.find((path) => !named.has(path));
  if (extra !== undefined)
    throw new StartError(
      `${join(folder, extra)} is not in the manifest: the backup is not as it was written, or other files lie in its folder.`,
    );
  const has = new Set(present);
  const missing = files.filter(({ path }) => !has.has(path));
  if (missing.length > 0)
    throw new StartError(
      `${folder} is not complete: ${String(missing.length)} of ${String(files.length)} files are missing, the first is ${missing[0]?.path ?? ""}. Take another copy of the backup.`,
    );
}

/** Returns the paths of all files below a folder but its manifest, sorted. Links and the like are refused. */
async function pathsIn(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/");
    if (!entry.isFile()) throw new StartError(`${join(folder, path)} is not a plain file.`);
    if (path !== MANIFEST_FILE) paths.push(path);
  }
  return paths.sort();
}
