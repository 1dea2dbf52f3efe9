/** The offline check of a ceremony: what holds, and each thing that somebody might have changed. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { CeremonyError } from "../../../../src/engine/groth16/ceremony/ceremony-fault.js";
import { readCeremonyKey } from "../../../../src/engine/groth16/ceremony/ceremony-key.js";
import { applyBeacon } from "../../../../src/engine/groth16/ceremony/contribute-to-key.js";
import { contributionRecords, hexOf } from "../../../../src/engine/groth16/ceremony/contribution-record.js";
import { contributionStatement } from "../../../../src/engine/groth16/ceremony/contribution-statement.js";
import { readPublishedKeys } from "../../../../src/engine/groth16/ceremony/github-keys.js";
import { readTranscriptDocument } from "../../../../src/engine/groth16/ceremony/transcript-document.js";
import type { CeremonyTranscript } from "../../../../src/engine/groth16/ceremony/transcript-document.js";
import { CEREMONY_CHECKS, verifyCeremony } from "../../../../src/engine/groth16/ceremony/verify-ceremony.js";
import type { CeremonyCheck, CeremonyFiles } from "../../../../src/engine/groth16/ceremony/verify-ceremony.js";
import { verifyingKeyToJson } from "../../../../src/engine/encoding/groth16-verifying-key.js";
import { readProvingKey, verifyingKeyOf } from "../../../../src/engine/groth16/proving-key.js";
import { rangeOfBytes } from "../../../../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import { MemoryTarget, contributeOurs, contributeSnarkjs, startCeremony } from "../../../support/ceremonies.js";
import type { StartedCeremony } from "../../../support/ceremonies.js";
import { chainFixture, cubicFixture } from "../../../support/groth16-fixtures.js";
import { signBySsh } from "../../../support/ssh-statements.js";

const POWER = 4;
const ID = "7a4c1f2e-0000-4000-8000-000000000001";
const NAMES = ["Ada", "Grace"];
const VALUE = "0a".repeat(32);
const TIME = "2030-01-01T00:00:00.000Z";

/** Those that need no powers of tau, which take most of the time. */
const QUICK: readonly CeremonyCheck[] = ["key_file", "chain", "contributions", "beacon", "statements", "initial_key"];
const SLOW: readonly CeremonyCheck[] = ["circuit", "phase1", "key_follows", "verifying_key"];

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

async function withBeacon(key: Uint8Array, iterationsLog = 10): Promise<Uint8Array> {
  const target = new MemoryTarget();
  const value = Buffer.from(VALUE, "hex");
  await applyBeacon({ source: rangeOfBytes(key), target }, { name: "drand", value, iterationsLog });
  return target.written;
}

describe("the transcript of a ceremony", () => {
  let started: StartedCeremony;
  let zkey: Uint8Array;
  let document: CeremonyTranscript;
  let files: CeremonyFiles;
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");

  const documentOf = async (keys: readonly Uint8Array[]): Promise<CeremonyTranscript> => {
    const last = keys.at(-1)!;
    const key = readCeremonyKey(rangeOfBytes(last));
    const kernels = await loadReferenceKernels(key.curve);
    const verifyingKey = JSON.stringify(verifyingKeyToJson(verifyingKeyOf(readProvingKey(last)), kernels));
    const circuitHash = hexOf(key.transcript.circuitHash);
    return {
      ...{ format: "proofwright-ceremony-transcript", version: 1, ceremony_id: ID, created_at: TIME, ended_at: TIME },
      ...{ curve: "BN254", initial_key_sha256: sha256(started.initial) },
      circuit: { identifier: "cubic", r1cs_sha256: sha256(started.r1cs), hash: circuitHash },
      phase1: { sha256: sha256(started.ptau), power: POWER, ceremony_power: null, contributions: [], checked_at: null },
      beacon: {
        ...{ source: "drand", round: 7, network: null, description: null, iterations_exp: 10, value: VALUE },
      },
      contributions: contributionRecords(key.transcript, key.curve).map((record, i) => ({
        ...record,
        proof_of_knowledge: { ...record.proof_of_knowledge },
        beacon: record.beacon === null ? null : { ...record.beacon },
        ...{ contributor: NAMES[i] ?? null, contributed_at: TIME, key_sha256: sha256(keys[i]!), statement: null },
      })),
      final: { zkey_sha256: sha256(last), verifying_key_sha256: sha256(verifyingKey) },
    };
  };
  const statementOf = (index: number, of = document): string => {
    const { hash } = of.contributions[index - 1]!;
    return contributionStatement({
      ...{ ceremonyId: ID, circuitHash: of.circuit.hash, index, hash, contributor: NAMES[index - 1]! },
    });
  };
  const withStatement = (index: number, text: string, signed = text): CeremonyTranscript => {
    const signature = sign(null, Buffer.from(signed), privateKey).toString("hex");
    const changed = structuredClone(document);
    changed.contributions[index - 1]!.statement = { kind: "ed25519", public_key, text, signature };
    return changed;
  };
  const failures = async (
    changed: Partial<CeremonyFiles>,
    of: CeremonyTranscript = document,
    checks: readonly CeremonyCheck[] = QUICK,
  ): Promise<Partial<Record<CeremonyCheck, string>>> => {
    const findings = await verifyCeremony(of, { ...files, ...changed }, { checks });
    return Object.fromEntries(
      findings.flatMap(({ check, verdict, message }) => (verdict === "fails" ? [[check, message]] : [])),
    );
  };

  beforeAll(async () => {
    started = await startCeremony(cubicFixture(3n), POWER);
    const one = await contributeOurs(started.initial, { name: "Ada" });
    const two = await contributeSnarkjs(started, one, "Grace");
    zkey = await withBeacon(two);
    document = await documentOf([one, two, zkey]);
    files = {
      ...{ zkey: rangeOfBytes(zkey), initialKey: rangeOfBytes(started.initial), r1cs: rangeOfBytes(started.r1cs) },
      powersOfTau: rangeOfBytes(started.ptau),
    };
  });

  it("holds in every point, also after it was written and read", async () => {
    const signed = withStatement(2, statementOf(2));
    const findings = await verifyCeremony(readTranscriptDocument(JSON.stringify(signed)), files);
    expect(findings.map(({ check, verdict }) => [check, verdict])).toEqual(
      CEREMONY_CHECKS.map((check) => [check, "holds"]),
    );
    expect(findings.find(({ check }) => check === "statements")?.message).toContain("1 of 2 contributors");
  });

  it("compares the key of a contributor on GitHub with the published ones, where they are there", async () => {
    const signed = structuredClone(document);
    signed.contributions[0]!.statement = { ...signBySsh(statementOf(1), privateKey, publicKey), github: "Ada-L" };
    const told = async (published?: string) => {
      const githubKeys = published === undefined ? undefined : new Map([["ada-l", readPublishedKeys(published)]]);
      const [finding] = await verifyCeremony(signed, { ...files, githubKeys }, { checks: ["statements"] });
      return [finding?.verdict, finding?.message.split("; ")[1] ?? finding?.message];
    };
    const own = signed.contributions[0]!.statement.public_key;
    const other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICWDqF/YBCBM0mFyMaSzCcl5AJAPbB9L+UbvU2estXr7";
    expect(await told()).toEqual(["holds", "Ada-L not compared with GitHub's keys"]);
    expect(await told(`${other}\n${own}\n`)).toEqual(["holds", "Ada-L has the key on GitHub"]);
    expect(await told(`${own} ada@example\r\n`)).toEqual(["holds", "Ada-L has the key on GitHub"]);
    const missing = ["fails", "the statement of contribution 1: GitHub does not publish its key for Ada-L"];
    expect(await told(other)).toEqual(missing);
    expect(await told("")).toEqual(missing);
    expect(await told(`ssh-rsa ${own.split(" ")[1]!}`)).toEqual(missing);
  });

  it("says what it could not try without a file", async () => {
    const findings = await verifyCeremony(document, { zkey: files.zkey });
    expect(findings.filter(({ verdict }) => verdict === "not_tried").map(({ check }) => check)).toEqual([
      "initial_key",
      "circuit",
      "phase1",
      "key_follows",
    ]);
    const withoutFirst = await verifyCeremony(document, { ...files, initialKey: undefined }, { checks: ["circuit"] });
    expect(withoutFirst).toMatchObject([{ check: "circuit", verdict: "holds" }]);
  });

  it("finds a chain that a late contributor exchanged, though it is sound in itself", async () => {
    let own = started.initial;
    for (const name of NAMES) own = await contributeOurs(own, { name });
    own = await withBeacon(own);
    const found = await failures({ zkey: rangeOfBytes(own) });
    expect(found.chain).toContain("contribution 1 of the key is not the published one");
    expect(found.key_file).toContain("another file");
    expect(found.contributions).toBeUndefined();
    expect(found.initial_key).toBeUndefined();
    // As a server would publish it that gives out the other key's hash as well.
    const swapped = { ...document, final: { ...document.final, zkey_sha256: sha256(own) } };
    expect(Object.keys(await failures({ zkey: rangeOfBytes(own) }, swapped))).toContain("chain");
    const shorter = await withBeacon(await contributeOurs(started.initial, { name: "Ada" }));
    expect((await failures({ zkey: rangeOfBytes(shorter) })).chain).toBeDefined();
  });

  it("says what the beacon follows from, and that nobody has looked where it comes from", async () => {
    const told = async (beacon: Partial<CeremonyTranscript["beacon"]>): Promise<string | undefined> => {
      const named = { ...document, beacon: { ...document.beacon, ...beacon } };
      return (await verifyCeremony(named, files, { checks: ["beacon"] }))[0]?.message;
    };
    const follows = `the last contribution follows from ${VALUE}, hashed 2^10 times, which is said to be`;
    expect(await told({})).toBe(`${follows} drand 7: compare it with drand`);
    expect(await told({ source: "block", network: "eip155:1" })).toBe(
      `${follows} block 7 of eip155:1: compare it with the chain`,
    );
    const manual = { source: "manual", round: null, description: "the dice of the assembly" } as const;
    expect(await told(manual)).toBe(`${follows} the dice of the assembly: compare it with what was published`);
  });

  it.each([
    ["signature", { round: 1000 }],
    ["round", { round: null, signature: "b4".repeat(48) }],
  ])("does not take a value for that of a known drand chain without its %s", async (_what, beacon) => {
    const network = "52DB9BA70E0CC0F6EAF7803DD07447A1F5477735FD3F661792BA94600C84E971";
    const named = { ...document, beacon: { ...document.beacon, ...beacon, network } };
    const [finding] = await verifyCeremony(named, files, { checks: ["beacon"] });
    expect(finding).toMatchObject({ check: "beacon", verdict: "not_tried" });
    expect(finding?.message).toContain("no signature of drand's quicknet");
  });

  it("finds another beacon, other iterations, and none", async () => {
    const two = await contributeOurs(await contributeOurs(started.initial, { name: "Ada" }), { name: "Grace" });
    expect((await failures({ zkey: rangeOfBytes(two) })).beacon).toContain("no beacon");
    const other = await withBeacon(two, 11);
    const found = await failures({ zkey: rangeOfBytes(other) }, await documentOf([two, two, other]));
    expect(found.beacon).toContain("not the one that the transcript names");
    const named = { ...document, beacon: { ...document.beacon, value: "0b".repeat(32) } };
    expect(Object.keys(await failures({}, named))).toEqual(["beacon"]);
    // Quicknet's of round 1000, beside a value that drand never signed.
    const signed = {
      ...{ network: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", round: 1000 },
      signature: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
    };
    const claimed = { ...document, beacon: { ...document.beacon, ...signed } };
    expect((await failures({}, claimed)).beacon).toContain("not the SHA-256 of the signature");
  });

  it("finds forged and misplaced statements", async () => {
    const other = generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" }).subarray(-32);
    const ofOther = withStatement(1, statementOf(1));
    const statement = ofOther.contributions[0]!.statement!;
    ofOther.contributions[0]!.statement = { ...statement, public_key: other.toString("hex") } as typeof statement;
    const moved = withStatement(1, statementOf(2));
    const elsewhere = withStatement(1, statementOf(1).replace(ID, ID.replace("1f2e", "1f2f")));
    for (const forged of [ofOther, moved, elsewhere, withStatement(2, statementOf(2), "something else")])
      expect(Object.keys(await failures({}, forged))).toEqual(["statements"]);
  });

  it("finds any other file", async () => {
    const other = await startCeremony(chainFixture(5), POWER);
    expect(Object.keys(await failures({ r1cs: rangeOfBytes(other.r1cs) }, document, SLOW))).toEqual([
      "circuit",
      "key_follows",
    ]);
    expect(Object.keys(await failures({ powersOfTau: rangeOfBytes(other.ptau) }, document, SLOW))).toEqual([
      "circuit",
      "phase1",
      "key_follows",
    ]);
    expect(Object.keys(await failures({ initialKey: rangeOfBytes(other.initial) }))).toEqual(["initial_key"]);
    const found = await failures({ zkey: rangeOfBytes(other.initial) }, document, [...QUICK, "verifying_key"]);
    expect(Object.keys(found)).toEqual([
      ...["key_file", "chain", "contributions", "beacon", "initial_key", "verifying_key"],
    ]);
    expect(Object.keys(await failures({ verifyingKey: "{}" }, document, ["verifying_key"]))).toEqual(["verifying_key"]);
    expect(Object.keys(await failures({ zkey: rangeOfBytes(zkey.slice(0, -10)) }))).toContain("chain");
  });

  it("finds any member that was changed", async () => {
    for (const member of ["hash", "previous_hash", "delta_g1", "name"] as const) {
      const changed = structuredClone(document);
      const contribution = changed.contributions[1]!;
      const value = contribution[member]!;
      contribution[member] = value.startsWith("0") ? `1${value.slice(1)}` : `0${value.slice(1)}`;
      expect((await failures({}, changed, ["chain"])).chain, member).toContain(`contribution 2`);
    }
  });

  it("is read strictly", () => {
    const text = JSON.stringify(document);
    expect(readTranscriptDocument(text)).toEqual(document);
    const refused = (change: (value: Record<string, unknown>) => void): void => {
      const value = JSON.parse(text) as Record<string, unknown>;
      change(value);
      expect(() => readTranscriptDocument(JSON.stringify(value))).toThrow(CeremonyError);
    };
    refused((value) => (value["extra"] = 1));
    refused((value) => (value["version"] = 2));
    refused((value) => (value["contributions"] = []));
    refused((value) => delete value["final"]);
    refused((value) => ((value["circuit"] as Record<string, unknown>)["hash"] = "00"));
    for (const other of ["", "[]", "null", text.slice(1)])
      expect(() => readTranscriptDocument(other)).toThrow(CeremonyError);
  });
});
