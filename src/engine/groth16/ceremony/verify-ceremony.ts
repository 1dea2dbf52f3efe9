/**
 * Verifies a ceremony offline, from its transcript and its files: everything that the transcript says is recomputed,
 * and its chain is compared with the key's own. The answer is a list, so that a reader sees what holds, what does not,
 * and what could not be tried because a file is missing.
 */
import { createHash } from "node:crypto";
import { drandChainName, findDrandFault } from "../../../crypto/signatures/drand-round.js";
import { findStatementFault } from "../../../crypto/signatures/signed-statement.js";
import { primeCurve } from "../../backends/snarkjs.js";
import { R1csFormatError, readR1cs } from "../../circuit/r1cs.js";
import type { R1cs } from "../../circuit/r1cs.js";
import { verifyingKeyToJson } from "../../encoding/groth16-verifying-key.js";
import { openPowersOfTau } from "../../powers-of-tau/lagrange-points.js";
import type { PowersOfTau } from "../../powers-of-tau/lagrange-points.js";
import { checkPowersOfTau } from "../../powers-of-tau/check-powers.js";
import type { CheckExecutor } from "../../powers-of-tau/check-jobs.js";
import type { RangeFile } from "../../powers-of-tau/file-layout.js";
import type { PointRowOptions } from "../../powers-of-tau/point-row-work.js";
import { PowersOfTauError } from "../../powers-of-tau/powers-of-tau-error.js";
import { loadReferenceKernels } from "../../reference/reference-kernels.js";
import { checkKey } from "../gates.js";
import { loadPairing } from "../pairing-backend.js";
import { circuitHash } from "../phases/circuit-hash.js";
import { hashedPowers, headerOf, makePhase1Key } from "../phases/phase1.js";
import { Phase2Error, checkTranscript } from "../phases/phase2.js";
import { ProvingKeyFormatError, readProvingKey, verifyingKeyOf } from "../proving-key.js";
import { zkeyCountsOf } from "../zkey-writer.js";
import { CeremonyError } from "./ceremony-fault.js";
import { readCeremonyKey, readPlace } from "./ceremony-key.js";
import type { CeremonyKey } from "./ceremony-key.js";
import { checkContribution } from "./check-contribution.js";
import type { CompareExecutor } from "./compare-jobs.js";
import { contributionRecords, hexOf } from "./contribution-record.js";
import type { ContributionRecord } from "./contribution-record.js";
import { contributionStatement } from "./contribution-statement.js";
import { compareGithubKey, type PublishedKeys } from "./github-keys.js";
import type { CeremonyTranscript, TranscriptContribution } from "./transcript-document.js";

/** The files of a ceremony; the key is needed, each other one makes further checks possible. */
export interface CeremonyFiles {
  readonly zkey: RangeFile;
  /** The key before any contribution. */
  readonly initialKey?: RangeFile | undefined;
  readonly r1cs?: RangeFile | undefined;
  readonly powersOfTau?: RangeFile | undefined;
  /** `verifying_key.json`, as published. */
  readonly verifyingKey?: string | undefined;
  /** SSH keys that GitHub publishes for contributors who name themselves by it. */
  readonly githubKeys?: PublishedKeys | undefined;
}

export const CEREMONY_CHECKS = [
  "key_file",
  "chain",
  "contributions",
  "beacon",
  "statements",
  "initial_key",
  "circuit",
  "phase1",
  "key_follows",
  "verifying_key",
] as const;
export type CeremonyCheck = (typeof CEREMONY_CHECKS)[number];

/** What one check found: yes, no with the reason, or that it could not be made. */
export interface CeremonyFinding {
  readonly check: CeremonyCheck;
  readonly verdict: "holds" | "fails" | "not_tried";
  readonly message: string;
}

export interface VerifyCeremonyOptions {
  /** Which checks are made; all by default. */
  readonly checks?: readonly CeremonyCheck[];
  /** How points of keys are compared, and of the powers of tau checked; on the calling thread by default. */
  readonly executeCompare?: CompareExecutor;
  readonly executePowers?: CheckExecutor;
  readonly rows?: PointRowOptions;
  /** Called before each check. */
  readonly onCheck?: (check: CeremonyCheck) => void;
}

/** Bytes hashed at once. */
const HASH_BYTES = 1 << 20;

/** A check that does not hold. */
class Failed extends Error {
  override readonly name = "Failed";
}

/** A check for which a file is missing. */
class NotTried extends Error {
  override readonly name = "NotTried";
}

/** Makes the checks, each whatever the others found. Some seconds for 2^16 constraints, and the powers of tau's. */
export async function verifyCeremony(
  document: CeremonyTranscript,
  files: CeremonyFiles,
  options: VerifyCeremonyOptions = {},
): Promise<CeremonyFinding[]> {
  const verifier = new CeremonyVerifier(document, files, options);
  const findings: CeremonyFinding[] = [];
  for (const check of options.checks ?? CEREMONY_CHECKS) {
    options.onCheck?.(check);
    findings.push(await findingOf(check, async () => await verifier.run(check)));
  }
  return findings;
}

async function findingOf(check: CeremonyCheck, run: () => Promise<string>): Promise<CeremonyFinding> {
  try {
    return { check, verdict: "holds", message: await run() };
  } catch (error) {
    if (error instanceof NotTried) return { check, verdict: "not_tried", message: error.message };
    const isFinding =
      error instanceof Failed ||
      error instanceof CeremonyError ||
      error instanceof Phase2Error ||
      error instanceof PowersOfTauError ||
      error instanceof ProvingKeyFormatError ||
      error instanceof R1csFormatError;
    if (!isFinding) throw error;
    return { check, verdict: "fails", message: error.message };
  }
}

class CeremonyVerifier {
  readonly #document: CeremonyTranscript;
  readonly #files: CeremonyFiles;
  readonly #options: VerifyCeremonyOptions;

  constructor(document: CeremonyTranscript, files: CeremonyFiles, options: VerifyCeremonyOptions) {
    this.#document = document;
    this.#files = files;
    this.#options = options;
  }

  /** @returns what was found, in words; throws what does not hold */
  async run(check: CeremonyCheck): Promise<string> {
    switch (check) {
      case "key_file":
        return this.#keyFile();
      case "chain":
        return this.#chain();
      case "contributions":
        return await this.#contributions();
      case "beacon":
        return this.#beacon();
      case "statements":
        return this.#statements();
      case "initial_key":
        return await this.#initialKey();
      case "circuit":
        return await this.#circuit();
      case "phase1":
        return await this.#phase1();
      case "key_follows":
        return await this.#keyFollows();
      case "verifying_key":
        return await this.#verifyingKey();
    }
  }

  get #key(): CeremonyKey {
    return readCeremonyKey(this.#files.zkey);
  }

  #keyFile(): string {
    requireHash(this.#files.zkey, this.#document.final.zkey_sha256, "the key");
    const last = this.#document.contributions.at(-1)?.key_sha256;
    if (last !== this.#document.final.zkey_sha256)
      throw new Failed("the transcript's last contribution made another key than the final one");
    return "the key is the published file";
  }

  #chain(): string {
    const { contributions, circuit } = this.#document;
    const key = this.#key;
    const own = contributionRecords(key.transcript, key.curve);
    if (hexOf(key.transcript.circuitHash) !== circuit.hash)
      throw new Failed("the key is of another circuit, or of another phase 1, than the transcript");
    for (const [i, published] of contributions.entries()) {
      const found = own[i];
      if (found === undefined) throw new Failed(`contribution ${i + 1} of the transcript is not in the key`);
      const member = differingMember(found, published);
      if (member !== undefined)
        throw new Failed(
          `contribution ${i + 1} of the key is not the published one (${member}): the chain was exchanged from there on`,
        );
    }
    if (own.length > contributions.length)
      throw new Failed(`the key has ${own.length} contributions, and the transcript ${contributions.length}`);
    return `the key's own ${own.length} contributions are the published ones`;
  }

  async #contributions(): Promise<string> {
    const { transcript, delta } = this.#key;
    if (transcript.contributions.length === 0) throw new Failed("nobody contributed to the key");
    const pairing = await loadPairing("wasm");
    checkTranscript(pairing, transcript, delta);
    return `each of ${transcript.contributions.length} contributors knew a secret and went on from the one before`;
  }

  #beacon(): string {
    const { contributions, beacon } = this.#document;
    const key = this.#key;
    const own = contributionRecords(key.transcript, key.curve);
    const last = own.at(-1)?.beacon ?? undefined;
    if (last === undefined) throw new Failed("the last contribution is no beacon");
    if (own.slice(0, -1).some(({ kind }) => kind === "beacon") || contributions.length !== own.length)
      throw new Failed("there is a beacon before the last contribution");
    if (last.value !== beacon.value || last.iterations_exp !== beacon.iterations_exp)
      throw new Failed("the key's beacon is not the one that the transcript names");
    const { value, iterations_exp: iterations } = beacon;
    const fault = drandFaultOf(beacon);
    if (fault !== undefined) throw new Failed(`the beacon: ${fault}`);
    requireSigned(beacon);
    return `the last contribution follows from ${value}, hashed 2^${iterations} times, ${saidOrigin(beacon)}`;
  }

  #statements(): string {
    const { ceremony_id: ceremonyId, circuit, contributions } = this.#document;
    const people = contributions.filter(({ kind }) => kind === "contribution");
    for (const { index, hash, statement, contributor } of people) {
      if (statement === null) continue;
      const text = contributionStatement({
        ...{ ceremonyId, circuitHash: circuit.hash, index, hash, contributor: contributor ?? "" },
      });
      if (statement.text !== text) throw new Failed(`the statement of contribution ${index} is about something else`);
      const fault = findStatementFault(statement, text);
      if (fault !== undefined) throw new Failed(`the statement of contribution ${index}: ${fault}`);
    }
    const signed = people.filter(({ statement }) => statement !== null).length;
    return `${signed} of ${people.length} contributors have signed, and their signatures hold${this.#onGithub(people)}`;
  }

  /** What is known of those who say who they are on GitHub. */
  #onGithub(people: readonly TranscriptContribution[]): string {
    const known = people.flatMap(({ index, statement }) => {
      if (statement?.kind !== "ssh" || statement.github === undefined || statement.github === null) return [];
      const { github, public_key } = statement;
      const finding = compareGithubKey({ github, public_key }, this.#files.githubKeys ?? new Map());
      if (finding === "not_published")
        throw new Failed(`the statement of contribution ${index}: GitHub does not publish its key for ${github}`);
      return [`${github} ${finding === "published" ? "has the key on GitHub" : "not compared with GitHub's keys"}`];
    });
    return known.length === 0 ? "" : `; ${known.join(", ")}`;
  }

  async #initialKey(): Promise<string> {
    const { initialKey, zkey } = this.#files;
    if (initialKey === undefined) throw new NotTried("the key before the contributions is not there");
    requireHash(initialKey, this.#document.initial_key_sha256, "the first key");
    const initial = readCeremonyKey(initialKey);
    if (initial.transcript.contributions.length > 0) throw new Failed("the first key has contributions");
    const { executeCompare } = this.#options;
    await checkContribution({ before: initialKey, after: zkey }, await loadPairing("wasm"), {
      added: this.#key.transcript.contributions.length,
      ...(executeCompare === undefined ? {} : { execute: executeCompare }),
    });
    return "the key is the first one with these contributions, and with nothing else changed";
  }

  async #circuit(): Promise<string> {
    const { r1cs, powers } = this.#requireSources();
    const { initialKey } = this.#files;
    const kernels = await loadReferenceKernels(this.#key.curve);
    const { domainPower } = zkeyCountsOf(r1cs);
    let own: Uint8Array;
    if (initialKey === undefined) own = (await makePhase1Key(kernels, r1cs, powers, this.#options.rows)).circuitHash;
    else {
      const { icPoints: ic, aPoints: a, b1Points: b1, b2Points: b2, cPoints: c } = provingKeyOf(initialKey);
      const vanishing = await hashedPowers(kernels, powers, domainPower, this.#options.rows);
      const header = headerOf(kernels, powers);
      own = circuitHash(kernels.curve, { header, ic, a, b1, b2, c, domainPower, vanishing });
    }
    if (hexOf(own) !== this.#document.circuit.hash)
      throw new Failed("the circuit's hash does not follow from circuit.r1cs and the powers of tau");
    return "the circuit's hash follows from circuit.r1cs and the powers of tau";
  }

  async #phase1(): Promise<string> {
    const { powersOfTau } = this.#files;
    if (powersOfTau === undefined) throw new NotTried("the powers-of-tau file is not there");
    const { phase1 } = this.#document;
    requireHash(powersOfTau, phase1.sha256, "the powers-of-tau file");
    const { executePowers } = this.#options;
    const checked = await checkPowersOfTau(
      powersOfTau,
      await loadPairing("wasm"),
      executePowers === undefined ? {} : { execute: executePowers },
    );
    if (!checked.ok) throw new Failed(`the powers-of-tau file: ${checked.message}`);
    const { contributions } = checked.value;
    const isPublished = phase1.contributions.every((each, i) => each.response_hash === contributions[i]?.responseHash);
    if (phase1.contributions.length > 0 && (!isPublished || phase1.contributions.length !== contributions.length))
      throw new Failed("the powers-of-tau file has other contributions than the transcript names");
    return `the powers of tau are sound, with ${contributions.length} contributions`;
  }

  async #keyFollows(): Promise<string> {
    const { r1cs, powers } = this.#requireSources();
    const key = provingKeyOf(this.#files.zkey);
    const kernels = await loadReferenceKernels(key.curve);
    const counts = zkeyCountsOf(r1cs);
    const isOfCircuit = (["wireCount", "publicCount", "domainPower"] as const).every(
      (name) => counts[name] === key[name],
    );
    if (!isOfCircuit) throw new Failed("the key has other counts than circuit.r1cs");
    const subject = { key, r1cs, powers, verifyingKey: verifyingKeyOf(key) };
    const gates = checkKey(kernels, await primeCurve(key.curve.name), subject);
    if (!gates.ok) throw new Failed(`${gates.gate}: ${gates.message}`);
    return "every point of the key follows from circuit.r1cs and the powers of tau";
  }

  async #verifyingKey(): Promise<string> {
    const key = provingKeyOf(this.#files.zkey);
    const kernels = await loadReferenceKernels(key.curve);
    const text = JSON.stringify(verifyingKeyToJson(verifyingKeyOf(key), kernels));
    const hash = createHash("sha256").update(text).digest("hex");
    if (hash !== this.#document.final.verifying_key_sha256)
      throw new Failed("the published verifying key is not the key's own");
    const { verifyingKey } = this.#files;
    if (verifyingKey !== undefined && createHash("sha256").update(verifyingKey).digest("hex") !== hash)
      throw new Failed("verifying_key.json is not the published one");
    return "the published verifying key is the key's own";
  }

  #requireSources(): { readonly r1cs: R1cs; readonly powers: PowersOfTau } {
    const { r1cs, powersOfTau } = this.#files;
    if (r1cs === undefined) throw new NotTried("circuit.r1cs is not there");
    requireHash(r1cs, this.#document.circuit.r1cs_sha256, "circuit.r1cs");
    const circuit = readR1cs(readPlace(r1cs, { offset: 0, size: r1cs.size }));
    if (powersOfTau === undefined) throw new NotTried("the powers-of-tau file is not there");
    const powers = openPowersOfTau(powersOfTau);
    if (powers.layout.curve !== this.#key.curve) throw new Failed("the powers of tau are over another curve");
    if (powers.layout.power < zkeyCountsOf(circuit).domainPower)
      throw new Failed("the powers of tau are fewer than the circuit takes");
    return { r1cs: circuit, powers };
  }
}

/** Returns the name of the first member in which the key's own contribution differs from the published one. */
function differingMember(own: ContributionRecord, published: TranscriptContribution): string | undefined {
  const members = ["index", "kind", "name", "hash", "previous_hash", "delta_g1"] as const;
  const plain = members.find((member) => own[member] !== published[member]);
  if (plain !== undefined) return plain;
  const proof = (["s", "s_delta", "answered_delta", "answer"] as const).find(
    (member) => own.proof_of_knowledge[member] !== published.proof_of_knowledge[member],
  );
  if (proof !== undefined) return proof;
  const isSameBeacon =
    own.beacon?.value === published.beacon?.value && own.beacon?.iterations_exp === published.beacon?.iterations_exp;
  return isSameBeacon ? undefined : "beacon";
}

function provingKeyOf(file: RangeFile): ReturnType<typeof readProvingKey> {
  return readProvingKey(readPlace(file, { offset: 0, size: file.size }));
}

type PublishedBeacon = CeremonyTranscript["beacon"];

/** The chain of a drand round that comes with its signature, if its key is known here. */
function signedChain({ source, round, network, signature }: PublishedBeacon): string | undefined {
  const chain = network?.toLowerCase() ?? "";
  const isSigned = source === "drand" && round !== null && signature !== undefined && signature !== null;
  return isSigned && drandChainName(chain) !== undefined ? chain : undefined;
}

function drandFaultOf(beacon: PublishedBeacon): string | undefined {
  const chain = signedChain(beacon);
  const { round, value: randomness, signature, previous_signature: previous } = beacon;
  if (chain === undefined || round === null || signature === undefined || signature === null) return undefined;
  return findDrandFault({ chain, round, randomness, signature, previousSignature: previous ?? null });
}

/** Otherwise whoever leaves the signature out could name any value as that of a chain whose rounds are signed. */
function requireSigned(beacon: PublishedBeacon): void {
  const { source, round, network } = beacon;
  const name = source === "drand" ? drandChainName(network?.toLowerCase() ?? "") : undefined;
  if (name !== undefined && signedChain(beacon) === undefined)
    throw new NotTried(
      `the transcript has no signature of drand's ${name} for the beacon: compare its value with round ${round ?? "of no number"}`,
    );
}

/** Where the value comes from: signed by drand, or a claim of the transcript, which its reader can check. */
function saidOrigin(beacon: PublishedBeacon): string {
  const { source, round, network, description } = beacon;
  const chain = signedChain(beacon);
  if (chain !== undefined) return `which drand's ${drandChainName(chain) ?? chain} signed as round ${round ?? ""}`;
  if (source === "manual") return `which is said to be ${description ?? "public"}: compare it with what was published`;
  const of = network === null ? "" : ` of ${network}`;
  return `which is said to be ${source} ${round ?? "of an unnamed round"}${of}: compare it with ${source === "drand" ? "drand" : "the chain"}`;
}

function requireHash(file: RangeFile, expected: string, what: string): void {
  const hash = createHash("sha256");
  for (let at = 0; at < file.size; at += HASH_BYTES)
    hash.update(readPlace(file, { offset: at, size: Math.min(HASH_BYTES, file.size - at) }));
  if (hash.digest("hex") !== expected) throw new Failed(`${what} is another file than the transcript names`);
}
