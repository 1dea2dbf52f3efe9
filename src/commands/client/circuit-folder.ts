/** A circuit's folder: `proofwright.json` and the circom files beside it. */
import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { SOURCE_BYTES_MAX, SOURCE_FILES_MAX, SOURCE_PATH_PATTERN } from "../../engine/circuit/source-limits.js";
import { StartError } from "../../platform/start-error.js";
import { parseJson } from "../read-text-file.js";

export interface CircuitManifest {
  readonly $schema?: string;
  readonly name: string;
  readonly main: string;
  readonly scheme: string;
  readonly curve: string;
  readonly description?: string;
  readonly strict: boolean;
  readonly tags?: string[];
  readonly options: { readonly optimization?: 0 | 1 | 2; readonly rounds?: number };
}

export interface CircuitFolder {
  readonly manifest: CircuitManifest;
  readonly files: Readonly<Record<string, string>>;
  /** SHA-256 of all that the keys follow from: what has it was deployed from the same source. */
  readonly hash: string;
}

export const MANIFEST_FILE = "proofwright.json";
/** The JSON schema of `proofwright.json`. Which schemes and curves there are, the server says. */
export const MANIFEST_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "proofwright.json",
  description: "A circuit and how it is deployed, for `proofwright circuit`",
  type: "object",
  required: ["name"],
  additionalProperties: false,
  properties: {
    $schema: { type: "string", description: "address of this schema, for editors" },
    name: { type: "string", minLength: 1, maxLength: 128, description: "name of the prover" },
    main: {
      type: "string",
      pattern: SOURCE_PATH_PATTERN,
      default: "main.circom",
      description: "the file with the main component, relative to this one",
    },
    scheme: { type: "string", minLength: 1, maxLength: 64, default: "groth16", description: "proving scheme" },
    curve: { type: "string", minLength: 1, maxLength: 64, default: "BN254" },
    description: { type: "string", minLength: 1, maxLength: 1024 },
    strict: {
      type: "boolean",
      default: false,
      description: "fail when the inputs do not fix an output",
    },
    tags: {
      type: "array",
      items: { type: "string" },
      description: "tags, which move to the prover that has them last",
    },
    options: {
      type: "object",
      additionalProperties: false,
      default: {},
      properties: {
        optimization: { enum: [0, 1, 2], description: "circom's --O0, --O1 or --O2; 2 unless given" },
        rounds: { type: "integer", minimum: 1, maximum: 1000, description: "circom's --O2round" },
      },
    },
  },
} as const;

/** Folders that hold no source of the circuit's own; the server has circomlib. */
const SKIPPED_FOLDERS = ["node_modules"];

/**
 * Reads a circuit's folder: all of its .circom files, but those in hidden folders and in node_modules.
 * @throws StartError that says which file is missing or wrong
 */
export async function readCircuitFolder(path: string): Promise<CircuitFolder> {
  const folder = resolve(path);
  const manifest = readManifest(await readText(join(folder, MANIFEST_FILE), folder), join(folder, MANIFEST_FILE));
  const files: Record<string, string> = {};
  let bytes = 0;
  for (const file of await circomFiles(folder)) {
    bytes += (await stat(file)).size;
    if (bytes > SOURCE_BYTES_MAX)
      throw new StartError(`the .circom files of ${folder} have more than ${SOURCE_BYTES_MAX / 1024 ** 2} MiB.`);
    files[relative(folder, file).split(sep).join("/")] = await readFile(file, "utf8");
  }
  if (!Object.hasOwn(files, manifest.main))
    throw new StartError(`${join(folder, manifest.main)}, which ${MANIFEST_FILE} names as \`main\`, does not exist.`);
  return { manifest, files, hash: hashOf(manifest, files) };
}

/**
 * Reads the text of a manifest, with defaults.
 * @throws StartError that names the member and what is wrong with it
 */
export function readManifest(text: string, path: string): CircuitManifest {
  const value = parseJson(text, path);
  const validate = new Ajv2020({ useDefaults: true, allErrors: true }).compile<CircuitManifest>(MANIFEST_SCHEMA);
  if (validate(value)) return value;
  const faults = (validate.errors ?? []).map(({ instancePath, message = "is wrong", params }) => {
    const extra = "additionalProperty" in params ? ` (${String(params.additionalProperty)})` : "";
    return `${instancePath === "" ? "it" : instancePath.slice(1).replaceAll("/", ".")} ${message}${extra}`;
  });
  throw new StartError(
    `${path} is wrong: ${faults.join("; ")}. \`proofwright circuit schema\` prints its JSON schema.`,
  );
}

async function readText(path: string, folder: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new StartError(`${folder} has no ${MANIFEST_FILE}. \`proofwright circuit init ${folder}\` makes one.`);
    throw error;
  }
}

async function circomFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  const pending = [folder];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory() && !SKIPPED_FOLDERS.includes(entry.name)) pending.push(join(next, entry.name));
      if (entry.isFile() && entry.name.endsWith(".circom")) found.push(join(next, entry.name));
      if (found.length > SOURCE_FILES_MAX)
        throw new StartError(`${folder} has more than ${SOURCE_FILES_MAX} .circom files.`);
    }
  }
  return found.sort();
}

function hashOf(
  { name, main, scheme, curve, options, strict }: CircuitManifest,
  files: Record<string, string>,
): string {
  const parts = [name, main, scheme, curve, options.optimization ?? 2, options.rounds ?? 0, strict];
  const sorted = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([parts, sorted]))
    .digest("hex");
}
