// FFLONK on the kernels against snarkjs in both directions, and forged proofs.
import { describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import {
  decodeFflonkProof,
  decodeFflonkProofs,
  encodeFflonkProofHex,
  fflonkProofFromJson,
  fflonkProofToJson,
} from "../../../src/engine/encoding/fflonk-proof.js";
import {
  fflonkVerifyingKeyFromJson,
  fflonkVerifyingKeyToJson,
} from "../../../src/engine/encoding/fflonk-verifying-key.js";
import { EVALUATIONS, fflonkDomainPowerOf, fflonkPowerCount } from "../../../src/engine/fflonk/fflonk-values.js";
import type { FflonkProof } from "../../../src/engine/fflonk/fflonk-values.js";
import { fflonkRoots } from "../../../src/engine/fflonk/roots.js";
import { prepareFflonkKey, verifyFflonk, verifyFflonkBatch } from "../../../src/engine/fflonk/verify-fflonk.js";
import { power } from "../../../src/engine/field/prime-field.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { buildFflonkKey, fflonkKeyBytes } from "../../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { FflonkProver } from "../../../src/engine/kernels/fflonk/fflonk-prover.js";
import { loadKernels, openKernels } from "../../../src/engine/kernels/kernels.js";
import { makeDevelopmentPowers } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { fflonkBlinding, snarkjsFflonk, snarkjsFflonkKey } from "../../support/fflonk-fixtures.js";
import {
  cancellingFixture,
  chainFixture,
  cubicFixture,
  mixedFixture,
  spoilWitness,
} from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { KERNEL_KINDS } from "../../support/kernels.js";
import { witnessFile } from "../../support/plonk-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();

function withoutPublicSignals({ r1cs }: Fixture): Pick<Fixture, "r1cs" | "publicSignals"> {
  return { r1cs: { ...r1cs, publicInputCount: 0 }, publicSignals: [] };
}

/** One set-up for each domain of the file: it takes longer than the rest of a test. */
const setups = new Map<number, ReturnType<typeof makeDevelopmentPowers>>();

async function setUp(
  fixture: Fixture,
  { kind, isAnother = false }: { readonly kind?: (typeof KERNEL_KINDS)[number]; readonly isAnother?: boolean } = {},
) {
  const gates = gatesOf(fixture.r1cs, { dropsZeroTerms: true });
  const domainPower = fflonkDomainPowerOf(gates.gateCount);
  const made = isAnother ? undefined : setups.get(domainPower);
  const making = made ?? makeDevelopmentPowers(await loadReferenceKernels(), fflonkPowerCount(domainPower));
  setups.set(domainPower, making);
  const points = await making;
  const key = buildFflonkKey(gates, points, { workspaces: 1, ...(kind === undefined ? {} : { preferred: kind }) });
  const prepared = prepareFflonkKey(await loadPairing("wasm"), key.verifyingKey);
  const prover = new FflonkProver(key);
  const prove = (witness = fixture.witness): FflonkProof => prover.prove(witness, fflonkBlinding()).proof;
  return { gates, setup: { points, domainPower }, key, prepared, prove };
}

describe.each(KERNEL_KINDS)(`FFLONK on the kernels, %s, seed ${String(random.seed)}`, (kind) => {
  it.each([
    ["two rows", cubicFixture(3n)],
    ["every kind of row", mixedFixture(30, random)],
    ["terms that cancel", cancellingFixture(5n, 8n)],
    ["no public signal", { ...cubicFixture(2n), ...withoutPublicSignals(cubicFixture(2n)) }],
    ["a larger domain", mixedFixture(90, random)],
  ])("makes snarkjs' key, verifies its proof and makes one that it verifies, for %s", async (_name, fixture) => {
    const snarkjs = await snarkjsFflonk();
    const { setup, key, prepared, prove } = await setUp(fixture, { kind });
    const theirs = await snarkjsFflonkKey(snarkjs, fixture, setup);
    expect(fflonkVerifyingKeyToJson(key.verifyingKey, BN254)).toEqual(theirs.verifyingKey);
    const made = await snarkjs.fflonk.prove(theirs.zkey, witnessFile(fixture));
    expect(made.publicSignals).toEqual(fixture.publicSignals.map(String));
    const decoded = fflonkProofFromJson(made.proof, prepared.kernels);
    expect(decoded.ok && verifyFflonk(prepared, decoded.value, fixture.publicSignals)).toBe(true);
    const proof = prove();
    expect(verifyFflonk(prepared, proof, fixture.publicSignals)).toBe(true);
    const json = fflonkProofToJson(proof);
    expect(await snarkjs.fflonk.verify(theirs.verifyingKey, made.publicSignals, json)).toBe(true);
  });

  it("proves systems whose rows name a wire twice, and no false statement", async () => {
    const fixture = chainFixture(29);
    const { prepared, prove, key } = await setUp(fixture, { kind });
    expect(verifyFflonk(prepared, prove(), fixture.publicSignals)).toBe(true);
    for (const wire of [1, 3, key.systemWireCount - 1])
      expect(verifyFflonk(prepared, prove(spoilWitness(fixture.witness, wire)), fixture.publicSignals)).toBe(false);
  });
});

describe("an FFLONK key", () => {
  it("takes the memory that was foreseen, and no setup that is too short", async () => {
    const fixture = mixedFixture(40, random);
    const { gates, setup, key } = await setUp(fixture);
    const foreseen = fflonkKeyBytes(loadKernels({ pages: 1, preferred: key.kind }), gates);
    expect(key.keyBytes).toBeLessThan(foreseen.key + 65_536);
    expect(key.memory.buffer.byteLength).toBeLessThan(foreseen.key + foreseen.workspace + 2 * 65_536);
    const short = { ...setup.points, powers: setup.points.powers.subarray(64) };
    expect(() => buildFflonkKey(gates, short, { workspaces: 1 })).toThrow(RangeError);
  });

  it("is refused beyond the memory that WebAssembly has, before any is taken", () => {
    const { r1cs } = cubicFixture(3n);
    const gates = { ...gatesOf(r1cs, { dropsZeroTerms: true }), gateCount: 2 ** 20 };
    const powers = new Uint8Array(64 * fflonkPowerCount(fflonkDomainPowerOf(gates.gateCount)));
    expect(() => buildFflonkKey(gates, { powers, tauG2: BN254.generatorG2 }, { workspaces: 1 })).toThrow(RangeError);
  });

  it("leaves two rows free: a domain is full two gates before its size", () => {
    expect([6, 7, 14, 15].map(fflonkDomainPowerOf)).toEqual([3, 4, 4, 5]);
    expect(fflonkPowerCount(3)).toBe(90);
  });

  it("names snarkjs' roots, each of its order", () => {
    for (const domainPower of [3, 17, 28]) {
      const { w, w3, w4, w8, wr } = fflonkRoots(domainPower);
      expect(w).toBe(rootOfUnity(BN254, domainPower));
      expect(power(wr, 3n, BN254.r)).toBe(w);
      expect([power(w3, 3n, BN254.r), power(w4, 2n, BN254.r)]).toEqual([1n, BN254.r - 1n]);
      expect([w3 === 1n, power(w8, 2n, BN254.r)]).toEqual([false, w4]);
    }
  });

  it("is taken by no verifier whose domain does not fit, or off the curve", async () => {
    const { prepared, key } = await setUp(cubicFixture(3n));
    for (const change of [
      { domainPower: 2 },
      { domainPower: 29 },
      { publicCount: 9 },
      { curve: "BLS12_381" as "BN254" },
      { c0: { x: 1n, y: 1n } },
      { tauG2: { ...BN254.generatorG2, y: BN254.generatorG2.x } },
    ])
      expect(() => prepareFflonkKey(prepared.kernels, { ...key.verifyingKey, ...change })).toThrow(RangeError);
  });
});

describe("an FFLONK proof", () => {
  it("is another one each time, and wipes the witness", async () => {
    const fixture = cubicFixture(5n);
    const { prove, key } = await setUp(fixture);
    const [first, second] = [prove(), prove()];
    expect(first.c1).not.toEqual(second.c1);
    for (const name of ["a", "b", "c", "z"] as const)
      expect(first.evaluations[name]).not.toEqual(second.evaluations[name]);
    const kernels = openKernels(key.memory, { preferred: key.kind });
    const { start, end } = key.workspaces[0] ?? { start: 0, end: 0 };
    expect(end - start).toBeGreaterThan(fixture.witness.length);
    expect(kernels.bytes(start, end - start).every((byte) => byte === 0)).toBe(true);
    expect(() => prove(fixture.witness.subarray(32))).toThrow(RangeError);
  });

  it("is refused with any member or public signal changed", async () => {
    const fixture = mixedFixture(12, random);
    const { prepared, prove } = await setUp(fixture);
    const proof = prove();
    const [first = 0n, ...others] = fixture.publicSignals;
    const { generatorG1: other } = BN254;
    const points = ["c1", "c2", "w1", "w2"] as const;
    const changes = [1n, -1n, BN254.r, -BN254.r];
    const forged: FflonkProof[] = [
      ...points.map((name) => ({ ...proof, [name]: other })),
      ...points.map((name) => ({ ...proof, [name]: { x: proof[name].x, y: BN254.q - proof[name].y } })),
      ...points.map((name) => ({ ...proof, [name]: { x: proof[name].x, y: (proof[name].y + 1n) % BN254.q } })),
      ...points.map((name) => ({ ...proof, [name]: { x: proof[name].x + BN254.q, y: proof[name].y } })),
      ...points.map((name) => ({ ...proof, [name]: { x: 0n, y: 0n } })),
      { ...proof, w1: proof.w2, w2: proof.w1 },
      { ...proof, curve: "BLS12_381" as "BN254" },
      { ...proof, c1: proof.c2, c2: proof.c1 },
      ...changes.map((change) => ({ ...proof, inverse: proof.inverse + change })),
      ...changes.flatMap((change) =>
        EVALUATIONS.map((name) => ({
          ...proof,
          evaluations: { ...proof.evaluations, [name]: proof.evaluations[name] + change },
        })),
      ),
    ];
    expect(verifyFflonk(prepared, proof, fixture.publicSignals)).toBe(true);
    for (const each of forged) expect(verifyFflonk(prepared, each, fixture.publicSignals)).toBe(false);
    for (const signals of [
      [first + 1n, ...others],
      [first + BN254.r, ...others],
      [first - BN254.r, ...others],
      others,
      [first, ...others, 0n],
    ])
      expect(verifyFflonk(prepared, proof, signals)).toBe(false);
  });

  it("is refused under another circuit's key and under another setup", async () => {
    const fixture = cubicFixture(3n);
    const [own, other] = [await setUp(fixture), await setUp(fixture, { isAnother: true })];
    expect(verifyFflonk(other.prepared, own.prove(), fixture.publicSignals)).toBe(false);
    expect(verifyFflonk((await setUp(chainFixture(3))).prepared, own.prove(), fixture.publicSignals)).toBe(false);
  });

  it("is told from the wrong ones in a batch", async () => {
    const fixture = cubicFixture(3n);
    const { prepared, prove } = await setUp(fixture);
    const good = { proof: prove(), publicSignals: fixture.publicSignals };
    const another = { proof: prove(), publicSignals: fixture.publicSignals };
    const wrong = { proof: { ...good.proof, w2: another.proof.w2 }, publicSignals: fixture.publicSignals };
    const malformed = { proof: good.proof, publicSignals: [] };
    expect(verifyFflonkBatch(prepared, [])).toEqual([]);
    expect(verifyFflonkBatch(prepared, [good, another, good])).toEqual([true, true, true]);
    const claims = Array.from({ length: 7 }, () => [good, wrong, malformed][random.below(3)] ?? good);
    expect(verifyFflonkBatch(prepared, claims)).toEqual(claims.map((claim) => claim === good));
    expect(verifyFflonkBatch(prepared, [good, wrong, good, another])).toEqual([true, false, true, true]);
  });
});

describe("FFLONK's encodings", () => {
  it("read what they write, in hex and as snarkjs' object, and nothing else", async () => {
    const { prepared, prove } = await setUp(cubicFixture(3n));
    const { kernels } = prepared;
    const proof = prove();
    const hex = encodeFflonkProofHex(proof);
    expect(hex).toMatch(/^[0-9a-f]{1280}$/);
    const json = fflonkProofToJson(proof);
    for (const form of [hex, `0x${hex}`, json])
      expect(decodeFflonkProof(form, kernels)).toEqual({ ok: true, value: proof });
    const { polynomials, evaluations } = json;
    const { inv: _, ...withoutInverse } = evaluations;
    const refused = [
      hex.slice(2),
      `${hex}00`,
      hex.toUpperCase(),
      `00${hex.slice(2)}`,
      `40${"0".repeat(62)}${hex.slice(64)}`,
      `${hex.slice(0, -64)}${(proof.inverse + BN254.r).toString(16).padStart(64, "0")}`,
      { ...json, polynomials: { ...polynomials, C1: ["0", "1", "0"] } },
      { ...json, polynomials: { ...polynomials, W2: ["1", "1", "1"] } },
      { ...json, polynomials: { ...polynomials, W3: polynomials.W2 } },
      { ...json, polynomials: null },
      { ...json, evaluations: { ...evaluations, a: String(proof.evaluations.a + BN254.r) } },
      { ...json, evaluations: { ...evaluations, a: `0${evaluations.a}` } },
      { ...json, evaluations: { ...evaluations, extra: "1" } },
      { ...json, evaluations: withoutInverse },
      { ...json, protocol: "plonk" },
      { ...json, curve: "bls12381" },
      { ...json, extra: "1" },
      null,
      [],
      7,
    ];
    for (const form of refused) expect(decodeFflonkProof(form, kernels)).toMatchObject({ ok: false });
    const forms = [hex, ...refused, json, `0x${hex}`];
    expect(decodeFflonkProofs(forms, kernels)).toEqual(forms.map((form) => decodeFflonkProof(form, kernels)));
  });

  it("read a verifying key, and refuse one whose numbers do not belong together", async () => {
    const { prepared, key } = await setUp(cubicFixture(3n));
    const json = fflonkVerifyingKeyToJson(key.verifyingKey, BN254);
    expect(fflonkVerifyingKeyFromJson(json, prepared.kernels)).toEqual({ ok: true, value: key.verifyingKey });
    const wrong = [
      ...["k1", "k2", "w", "w3", "w4", "w8", "wr"].map((name) => ({ ...json, [name]: "1" })),
      { ...json, power: 2 },
      { ...json, power: 29 },
      { ...json, nPublic: 9 },
      { ...json, nPublic: -1 },
      { ...json, C0: ["0", "1", "0"] },
      { ...json, C0: ["1", "1", "1"] },
      { ...json, X_2: [["1", "0"], ["1", "0"], ["1", "0"]] }, // prettier-ignore
      { ...json, protocol: "plonk" },
      { ...json, extra: 1 },
    ];
    for (const each of wrong) expect(fflonkVerifyingKeyFromJson(each, prepared.kernels)).toMatchObject({ ok: false });
  });
});
