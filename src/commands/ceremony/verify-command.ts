/**
 * `proofwright ceremony verify`: a ceremony's transcript and files, from a folder, from single files or a server,
 * verified on this machine. Prints a line for each check.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { CeremonyError } from "../../engine/groth16/ceremony/ceremony-fault.js";
import { isGithubName } from "../../engine/groth16/ceremony/github-keys.js";
import { readTranscriptDocument, type CeremonyTranscript } from "../../engine/groth16/ceremony/transcript-document.js";
import type { CeremonyFinding } from "../../engine/groth16/ceremony/verify-ceremony.js";
import { StartError } from "../../platform/start-error.js";
import { ProgressLine } from "../../progress-line.js";
import { CeremonyServer, readCeremonyAddress } from "./ceremony-server.js";
import { verifyInProcess, type VerifyTaskRequest } from "./verify-task.js";

/** Paths of the files, each where it is named. */
export interface CeremonyPaths {
  readonly transcript?: string | undefined;
  readonly zkey?: string | undefined;
  readonly initialKey?: string | undefined;
  readonly r1cs?: string | undefined;
  readonly powersOfTau?: string | undefined;
  readonly verifyingKey?: string | undefined;
}

export interface VerifyCommand extends CeremonyPaths {
  /** A file NAME.keys as GitHub publishes it, or a folder with such files. */
  readonly githubKeys?: string | undefined;
  /** A folder with the files, or the ceremony's address; none when the files are named. */
  readonly from: string | undefined;
}

/** The names under which a server has the files. */
const FILE_NAMES = {
  transcript: "ceremony-transcript.json",
  zkey: "proving_key.zkey",
  initialKey: "initial_key.zkey",
  r1cs: "circuit.r1cs",
  verifyingKey: "verifying_key.json",
} as const;
/** Those that a server hands out; the verifying key follows from the key. */
const DOWNLOADED = ["transcript", "zkey", "initialKey", "r1cs"] as const;
/** Ending of the file in which GitHub publishes a person's keys. */
const GITHUB_KEYS = ".keys";
const MARKS = { holds: "yes", fails: "NO", not_tried: "-" } as const;
/** Everything holds; something does not; something could not be tried. 2 is that of a wrong command. */
const VERIFY_STATUS = { holds: 0, fails: 1, not_tried: 3 } as const;

/**
 * Verifies a ceremony. Returns exit status 0 when all checks hold, 1 when one does not, 3 when one could not be tried.
 * @throws StartError when a needed file is missing
 */
export async function runVerify({ from, githubKeys, ...command }: VerifyCommand): Promise<number> {
  const published = githubKeys === undefined ? [] : await keyFilesOf(githubKeys);
  if (from === undefined || !/^https?:/.test(from)) {
    const found = from === undefined ? {} : await filesOf(from);
    return await verifyFiles({ ...found, ...named(command) }, published);
  }
  const folder = await mkdtemp(join(tmpdir(), "proofwright-ceremony-"));
  try {
    return await verifyFiles({ ...(await download(from, folder)), ...named(command) }, published);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function named(paths: CeremonyPaths): CeremonyPaths {
  return Object.fromEntries(Object.entries(paths).filter(([, path]) => path !== undefined));
}

async function keyFilesOf(path: string): Promise<VerifyTaskRequest["githubKeys"]> {
  if (!existsSync(path)) throw new StartError(`there is no file or folder ${path}.`);
  const isFolder = (await stat(path)).isDirectory();
  const paths = isFolder ? (await readdir(path)).map((name) => join(path, name)) : [path];
  const found = paths.flatMap((each) => {
    const name = basename(each, GITHUB_KEYS);
    return each.endsWith(GITHUB_KEYS) && isGithubName(name) ? [{ name, path: resolve(each) }] : [];
  });
  if (found.length === 0)
    throw new StartError(`${path} has no keys: save https://github.com/NAME.keys as NAME${GITHUB_KEYS}.`);
  return found;
}

async function filesOf(folder: string): Promise<CeremonyPaths> {
  if (!existsSync(folder) || !(await stat(folder)).isDirectory()) throw new StartError(`there is no folder ${folder}.`);
  const names = await readdir(folder);
  const present = Object.entries(FILE_NAMES).filter(([, name]) => names.includes(name));
  const powers = names.filter((name) => name.endsWith(".ptau"));
  if (powers.length > 1) throw new StartError(`${folder} has several powers-of-tau files; name one with --ptau=FILE.`);
  return {
    ...Object.fromEntries(present.map(([member, name]) => [member, join(folder, name)])),
    ...(powers[0] === undefined ? {} : { powersOfTau: join(folder, powers[0]) }),
  };
}

async function download(url: string, folder: string): Promise<CeremonyPaths> {
  const server = new CeremonyServer(readCeremonyAddress(url));
  const progress = new ProgressLine(process.stderr);
  const paths: Record<string, string> = {};
  for (const member of DOWNLOADED) {
    const name = FILE_NAMES[member];
    const path = join(folder, name);
    await progress.step(`downloading ${name}`, async (report) => {
      await server.download(`/files/${name}`, path, (share) => {
        report(share, "");
      });
    });
    paths[member] = path;
  }
  return paths;
}

async function verifyFiles(paths: CeremonyPaths, githubKeys: VerifyTaskRequest["githubKeys"]): Promise<number> {
  const { transcript, zkey } = paths;
  if (transcript === undefined) throw new StartError("the transcript is missing: --transcript=FILE.");
  if (zkey === undefined) throw new StartError("the key is missing: --zkey=FILE.");
  const absent = (Object.values(paths) as (string | undefined)[]).find(
    (path) => path !== undefined && !existsSync(path),
  );
  if (absent !== undefined) throw new StartError(`there is no file ${absent}.`);
  const document = await readDocument(transcript);
  const given = (path: string | undefined) => (path === undefined ? undefined : resolve(path));
  const findings = await verifyInProcess({
    ...{ transcript: resolve(transcript), zkey: resolve(zkey), initialKey: given(paths.initialKey) },
    ...{ r1cs: given(paths.r1cs), powersOfTau: given(paths.powersOfTau), verifyingKey: given(paths.verifyingKey) },
    githubKeys,
  });
  print(document, findings);
  if (findings.some(({ verdict }) => verdict === "fails")) return VERIFY_STATUS.fails;
  return findings.every(({ verdict }) => verdict === "holds") ? VERIFY_STATUS.holds : VERIFY_STATUS.not_tried;
}

async function readDocument(path: string): Promise<CeremonyTranscript> {
  try {
    return readTranscriptDocument(await readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof CeremonyError) throw new StartError(`${path}: ${error.message}.`);
    throw error;
  }
}

function print(
  { circuit, contributions, ceremony_id: id }: CeremonyTranscript,
  findings: readonly CeremonyFinding[],
): void {
  const lines = [
    `ceremony ${printable(id)}, circuit ${printable(circuit.identifier)}`,
    ...contributions.map(({ index, kind, contributor, name, hash, statement }) => {
      const who = kind === "beacon" ? "the beacon" : (contributor ?? name ?? "");
      const signer =
        statement === null ? "" : `, signed by ${"address" in statement ? statement.address : statement.public_key}`;
      return `  ${index}. ${printable(who)}${signer}\n     ${hash}`;
    }),
    "",
    ...findings.map(
      ({ check, verdict, message }) => `${MARKS[verdict].padEnd(4)} ${check.padEnd(14)} ${printable(message)}`,
    ),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Names come from strangers: nothing of them moves the cursor. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "?");
}
