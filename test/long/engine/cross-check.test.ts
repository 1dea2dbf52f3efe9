/**
 * Verification by others' code: noble's verifiers, and the Solidity contracts in the EVM inside of the process, say what
 * the server's own say of proofs that are right, of proofs with any one value changed, and of other public signals.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { keccak256 } from "../../../src/crypto/hashes/keccak.js";
import { crossCheck } from "../../../src/engine/assurance/cross-check.js";
import { verifyOnNoble } from "../../../src/engine/assurance/verify-on-noble.js";
import { makeDevelopmentString } from "../../../src/engine/plonk/development-string.js";
import { PROOF_SYSTEMS, type ProofSystemName } from "../../../src/engine/proof-systems/names.js";
import { openReferenceString } from "../../../src/engine/proof-systems/reference-string-file.js";
import type { ProofSystem } from "../../../src/engine/proof-systems/proof-system.js";
import { proofSystem } from "../../../src/engine/proof-systems/table.js";
import type { CrossCheckMessage, SnarkjsProof } from "../../../src/engine/protocol.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { compileSolidity } from "../../../src/engine/solidity/compile-solidity.js";
import { verifyProof } from "../../../src/sdk/verify-proof.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { newFolder } from "../../support/temporary-folder.js";

interface Made {
  readonly system: ProofSystem;
  readonly verifyingKey: object;
  readonly proof: object;
  readonly message: CrossCheckMessage;
}

const NAMES = Object.keys(PROOF_SYSTEMS) as ProofSystemName[];
/** FFLONK takes nine times the domain, which has eight gates. */
const STRING_POWER = 7;

/** A key, and a proof with an output and a public input. */
async function make(name: ProofSystemName): Promise<Made> {
  const system = proofSystem(name);
  const { curve } = system;
  const fixture = chainFixture(3, 7n, curve);
  const made = await system.makeKey(r1csFile(fixture), await stringFor(name, system));
  if (!made.ok) throw new Error(JSON.stringify(made));
  const proof = await system.proveOnReference(system.readProvingKey(made.provingKey), fixture.witness);
  const contract = await contractOf(system, made.verifyingKey);
  const text = Buffer.from(JSON.stringify(made.verifyingKey));
  const bytes = new SharedArrayBuffer(text.length);
  new Uint8Array(bytes).set(text);
  const message = {
    system: name,
    verifyingKey: { sha256: createHash("sha256").update(text).digest("hex"), bytes },
    proof: system.encodeHex(proof),
    publicSignals: fixture.publicSignals.map(String),
    ...(contract === undefined ? {} : { contract }),
  };
  return { system, verifyingKey: made.verifyingKey, proof, message };
}

async function stringFor(
  name: ProofSystemName,
  { curve }: ProofSystem,
): Promise<Parameters<ProofSystem["makeKey"]>[1]> {
  if (PROOF_SYSTEMS[name].setup !== "universal") return {};
  const file = await makeDevelopmentString(await loadReferenceKernels(curve), STRING_POWER);
  const path = join(newFolder("string"), "powers.ptau");
  writeFileSync(path, file);
  const string = openReferenceString({ path, sha256: createHash("sha256").update(file).digest("hex") }, curve);
  return { referenceString: () => string };
}

async function contractOf(system: ProofSystem, verifyingKey: object): Promise<CrossCheckMessage["contract"]> {
  const source = await system.solidityVerifier?.(verifyingKey);
  if (source === undefined) return undefined;
  const compiled = compileSolidity({
    sources: { "verifier.sol": source },
    settings: { evmVersion: "cancun", optimizerRuns: 200, viaIr: false },
  });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const entry = (compiled.abi as { name?: string; inputs?: { type: string }[] }[]).find(
    (each) => each.name === "verifyProof",
  );
  const signature = `verifyProof(${entry?.inputs?.map(({ type }) => type).join(",") ?? ""})`;
  return {
    bytecode: compiled.bytecode,
    selector: Buffer.from(keccak256(Buffer.from(signature))).toString("hex", 0, 4),
  };
}

describe.each(NAMES)("a proof of %s", (name) => {
  let made: Made;
  beforeAll(async () => {
    made = await make(name);
  }, 60_000);

  async function verdicts(change: Partial<CrossCheckMessage> = {}): Promise<Record<string, boolean>> {
    const checked = await crossCheck({ ...made.message, ...change });
    if (!checked.ok) throw new Error(checked.message);
    return Object.fromEntries(checked.value.verdicts.map(({ checker, valid }) => [checker, valid]));
  }

  const third = PROOF_SYSTEMS[name].curve === "BN254" ? "evm" : "ffjavascript";

  it("is valid for noble and for a third verifier", async () => {
    expect(await verdicts()).toEqual({ noble: true, [third]: true });
  });

  it("is valid without a contract, too", async () => {
    const { contract: _contract, ...message } = made.message;
    expect(await crossCheck(message)).toEqual({
      ok: true,
      value: {
        verdicts: [
          { checker: "noble", valid: true },
          { checker: "ffjavascript", valid: true },
        ],
      },
    });
  });

  it("is not valid for other public signals, or another number of them", async () => {
    const [output = "", input = ""] = made.message.publicSignals;
    expect(await verdicts({ publicSignals: [output, String(BigInt(input) + 1n)] })).toEqual({
      noble: false,
      [third]: false,
    });
    const claim = { verifyingKey: made.verifyingKey, proof: made.system.toJson(made.proof) };
    for (const publicSignals of [[output], [output, input, "0"], [output, String(BigInt(input) + made.system.curve.r)]])
      expect(verifyOnNoble(name, { ...claim, publicSignals })).toBe(false);
  });

  it("is judged in the same way by the SDK, offline", () => {
    const { publicSignals } = made.message;
    const claim = { verifyingKey: made.verifyingKey, proof: made.system.toJson(made.proof), publicSignals };
    expect(verifyProof(claim)).toBe(true);
    expect(verifyProof({ ...claim, publicSignals: publicSignals.map(() => "0") })).toBe(false);
    for (const proof of [null, undefined, "00", {}]) expect(verifyProof({ ...claim, proof })).toBe(false);
    const other = { ...made.verifyingKey, protocol: "stark" };
    expect(() => verifyProof({ ...claim, verifyingKey: other })).toThrow(/the verifying key is of stark\//);
    expect(() => verifyProof({ ...claim, verifyingKey: null })).toThrow(TypeError);
  });

  it("is not valid for noble with one value or point changed", () => {
    const { publicSignals } = made.message;
    const proof = made.system.toJson(made.proof);
    const all = placesOf(proof);
    // Every third one, each of them in a millisecond where it is no point any more, and in 100 where it is a value.
    const places = all.filter((_, i) => i % 3 === 0 || i === all.length - 1);
    expect(places.length).toBeGreaterThan(2);
    for (const place of places) {
      const changed = changedAt(proof, place);
      expect(
        verifyOnNoble(name, { verifyingKey: made.verifyingKey, proof: changed, publicSignals }),
        place.join("."),
      ).toBe(false);
    }
  });

  it("is malformed for all where its bytes are none", async () => {
    const { proof } = made.message;
    expect(await crossCheck({ ...made.message, proof: proof.slice(2) })).toMatchObject({ code: "proof_malformed" });
  });
});

describe("verifiers of others' code on changed values", () => {
  it.each(["plonk/BN254", "fflonk/BN254"] as const)("say of %s what the server says", async (name) => {
    const made = await make(name);
    const { system } = made;
    const pairing = await system.loadPairing("reference");
    const prepared = system.prepareKey(made.verifyingKey, pairing);
    const proof = system.toJson(made.proof);
    // Values, not coordinates: another coordinate is no point, and malformed.
    const values = placesOf(proof).filter((place) => /^(eval_|evaluations)/.test(place[0] ?? ""));
    expect(values.length).toBeGreaterThan(5);
    const [first, last] = [values[0] ?? [], values.at(-1) ?? []];
    for (const place of [first, last]) {
      const [decoded] = system.decodeProofs([changedAt(proof, place)], pairing);
      if (decoded?.ok !== true) throw new Error("a changed value is still well-formed");
      const signals = made.message.publicSignals.map(BigInt);
      expect(system.verify(prepared, decoded.value, signals)).toBe(false);
      const checked = await crossCheck({ ...made.message, proof: system.encodeHex(decoded.value) });
      expect(checked, place.join(".")).toMatchObject({
        value: {
          verdicts: [
            { checker: "noble", valid: false },
            { checker: "evm", valid: false },
          ],
        },
      });
    }
  });
});

/** Paths of all decimal values of a proof's object, but for the third coordinates, which are constant. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === "string") return /^\d+$/.test(value) && !["0", "1"].includes(value) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => placesOf(each, [...path, key]));
}

function changedAt(proof: SnarkjsProof, path: readonly string[]): SnarkjsProof {
  const copy = structuredClone(proof) as unknown as Record<string, unknown>;
  const parent = path
    .slice(0, -1)
    .reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy);
  const last = path.at(-1) ?? "";
  parent[last] = String(BigInt(parent[last] as string) + 1n);
  return copy as unknown as SnarkjsProof;
}
