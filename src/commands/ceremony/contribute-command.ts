/**
 * `proofwright ceremony contribute URL`: joins a ceremony, waits for its turn, contributes on this machine, uploads and
 * signs. What it needs to go on after an interruption is in one file that only its owner may read.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import timers from "node:timers/promises";
import type { ContributionRecord } from "../../engine/groth16/ceremony/contribution-record.js";
import { contributionStatement } from "../../engine/groth16/ceremony/contribution-statement.js";
import { CONTRIBUTION_NAME_MAX } from "../../engine/groth16/ceremony/ceremony-key.js";
import { createPrivateFile, readPrivateFile } from "../../platform/files/private-file.js";
import { StartError } from "../../platform/start-error.js";
import { ProgressLine } from "../../progress-line.js";
import { CeremonyServer, readCeremonyAddress } from "./ceremony-server.js";
import type { CeremonyAddress, Lease, SeenCeremony, TakenContribution } from "./ceremony-server.js";
import { contributeInProcess } from "./contribute-task.js";
import { signStatement } from "./sign-statement.js";
import type { SigningKey } from "./sign-statement.js";

export interface ContributeCommand {
  readonly url: string;
  readonly name: string | undefined;
  /** Path of a file with the invitation's token. */
  readonly invitationFile: string | undefined;
  readonly entropyFile: string | undefined;
  readonly key: SigningKey | undefined;
  /** Where the statement, with its signature, goes beside the terminal. */
  readonly statementFile: string | undefined;
  /** Where the participant's token is kept until the end. */
  readonly sessionFile: string | undefined;
}

/** Between two questions whether it is one's turn. */
const WAIT_MS = { first: 2_000, longest: 15_000 } as const;
const TOKEN_CHARACTERS_MAX = 200;

/** Contributes. Returns exit status 0. */
export async function runContribute(command: ContributeCommand): Promise<number> {
  const address = readCeremonyAddress(command.url);
  const sessionPath = resolve(command.sessionFile ?? `proofwright-ceremony-${address.id}.token`);
  const progress = new ProgressLine(process.stderr);
  const { server, name } = await enter(command, address, sessionPath);
  const seen = await waitForTurn(server, progress);
  const folder = await mkdtemp(join(dirname(sessionPath), ".proofwright-contribution-"));
  try {
    const { record, taken } = await contribute(server, { folder, name, command, progress });
    const circuitHash = seen.circuit.hash ?? "";
    const text = contributionStatement({
      ...{ ceremonyId: address.id, circuitHash, index: record.index, hash: record.hash, contributor: taken.name },
    });
    await finish(server, { command, progress, text, taken, record });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await rm(sessionPath, { force: true });
  return 0;
}

/** Joins, or goes on as who joined before. */
async function enter(
  command: ContributeCommand,
  address: CeremonyAddress,
  sessionPath: string,
): Promise<{ readonly server: CeremonyServer; readonly name: string | undefined }> {
  const known = (await readPrivateFile(sessionPath))?.toString("utf8").trim();
  if (known !== undefined) return { server: new CeremonyServer(address, known), name: command.name };
  const { name } = command;
  if (name === undefined || name === "" || name.length > CONTRIBUTION_NAME_MAX)
    throw new StartError("ceremony contribute needs --name=NAME, of at most 64 characters, which will be published.");
  const server = new CeremonyServer(address);
  const { token } = await server.join(name, await readInvitation(command.invitationFile));
  await createPrivateFile(sessionPath, Buffer.from(`${token}\n`));
  return { server, name };
}

async function readInvitation(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = (await readFile(path, "utf8")).trim();
  if (text === "" || text.length > TOKEN_CHARACTERS_MAX) throw new StartError(`${path} holds no invitation.`);
  return text;
}

async function waitForTurn(server: CeremonyServer, progress: ProgressLine): Promise<SeenCeremony> {
  return await progress.step("waiting for your turn", async (report) => {
    for (let wait: number = WAIT_MS.first; ; wait = Math.min(2 * wait, WAIT_MS.longest)) {
      const seen = await server.show();
      const { you } = seen;
      if (you?.state === "offered" || you?.state === "leased") return seen;
      if (you?.state === "contributed") throw new StartError("you have contributed to this ceremony already.");
      if (you === null || you.state === "gone")
        throw new StartError("you are no longer in the queue; remove the session file to join anew.");
      const isPreparing = seen.state === "preparing";
      if (!seen.accepts && !isPreparing)
        throw new StartError(`the ceremony takes no contributions: ${seen.reason ?? seen.state}.`);
      const place = `place ${you.position ?? "?"} of ${seen.queue.length}`;
      report(0, isPreparing ? `${place}; the first key is being made` : place);
      await timers.setTimeout(wait);
    }
  });
}

interface Work {
  readonly folder: string;
  readonly name: string | undefined;
  readonly command: ContributeCommand;
  readonly progress: ProgressLine;
}

async function contribute(
  server: CeremonyServer,
  { folder, name, command, progress }: Work,
): Promise<{ readonly record: ContributionRecord; readonly taken: TakenContribution }> {
  const lease = await server.lease();
  const [from, to] = [join(folder, "before.zkey"), join(folder, "after.zkey")];
  await progress.step("downloading the key", async (report) => {
    const sha256 = await server.download("/key", from, (share) => {
      report(share, "");
    });
    if (sha256 !== lease.key.sha256) throw new StartError("the key came otherwise than the server named it.");
  });
  const entropyFile = command.entropyFile === undefined ? undefined : resolve(command.entropyFile);
  const record = await progress.step("contributing", async (report) =>
    contributeInProcess({ from, to, name, entropyFile }, (share) => {
      report(share, "");
    }),
  );
  if (record.index !== lease.index) throw new StartError("the key has other contributions than the server says.");
  await renew(server, lease);
  const taken = await progress.step("uploading, and its check", async (report) =>
    server.upload(to, (share) => {
      report(share, "");
    }),
  );
  if (taken.hash !== record.hash || taken.index !== record.index)
    throw new StartError("the server took another contribution than the one that was made here.");
  return { record, taken };
}

/** A lease of which the half is gone may not last for the upload. */
async function renew(server: CeremonyServer, { expires_at }: Lease): Promise<void> {
  const left = Date.parse(expires_at) - Date.now();
  if (left < RENEWED_BELOW_MS) await server.lease().catch(() => undefined);
}

const RENEWED_BELOW_MS = 1_800_000;

async function finish(
  server: CeremonyServer,
  made: {
    readonly command: ContributeCommand;
    readonly progress: ProgressLine;
    readonly text: string;
    readonly taken: TakenContribution;
    readonly record: ContributionRecord;
  },
): Promise<void> {
  const { command, progress, text, taken, record } = made;
  // Nothing is signed that the contributor did not make.
  if (taken.statement_text !== text) throw new StartError("the server asks for a signature of something else.");
  let published = text;
  if (command.key !== undefined) {
    const { key } = command;
    const statement = await progress.step("signing", async () => {
      const signed = await signStatement(text, key);
      await server.sign(record.index, signed);
      return signed;
    });
    published += `\n\n${JSON.stringify(statement, undefined, 2)}`;
  }
  process.stdout.write(`${published}\n`);
  if (command.statementFile !== undefined) await writeFile(command.statementFile, `${published}\n`);
}
