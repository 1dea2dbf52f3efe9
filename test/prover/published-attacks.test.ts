/**
 * Attacks that were published on snarkjs, on verifiers made with it, and on the schemes as it implements them, each
 * with its reference, against every scheme of the registry. Attacks on uploaded keys and files are tested with imports,
 * those on contracts with the contracts, those on circuits with the analysis.
 */
import { bn254 } from "@noble/curves/bn254.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { Prover, ProveResult } from "../../src/prover/schemas.js";
import { AppError } from "../../src/platform/errors.js";
import { subject } from "../vault/support.js";
import { CUBIC, never, openTestRegistry, principalOf, provision, type TestRegistry } from "./support.js";

const { q, r } = BN254;
const SCHEMES = ["groth16", "plonk", "fflonk"] as const;
const INPUTS = { X: "3", Y: "35" };
const owner = subject();

let test: TestRegistry;
const made = new Map<string, { readonly prover: Prover; readonly result: ProveResult }>();

beforeAll(async () => {
  test = await openTestRegistry();
  for (const scheme of SCHEMES) {
    const prover = await provision(test.provers, owner, { ...CUBIC, proving_scheme: scheme });
    const result = await test.provers.prove(owner, prover.id, { inputs: INPUTS, format: "snarkjs", signal: never });
    made.set(scheme, { prover, result });
  }
});
afterAll(async () => {
  await test.close();
});

/** The answer of verify: a result, or the code of the refusal. */
async function verify(scheme: string, item: object): Promise<boolean | string> {
  const { prover } = madeBy(scheme);
  try {
    return await test.provers.verify(principalOf(owner), prover.id, { item, store: false, signal: never });
  } catch (error) {
    if (error instanceof AppError && error.status === 422) return error.code;
    throw error;
  }
}

function madeBy(scheme: string): { readonly prover: Prover; readonly result: ProveResult } {
  const found = made.get(scheme);
  if (found === undefined) throw new Error(`no proof of ${scheme}`);
  return found;
}

function proofOf(scheme: string): Record<string, unknown> {
  return madeBy(scheme).result.snarkjs!.proof;
}

describe.each(SCHEMES)("a proof of %s", (scheme) => {
  it("is valid as it was made", async () => {
    expect(await verify(scheme, { proof: proofOf(scheme), public_signals: ["35"] })).toBe(true);
  });

  // GHSA-xp5g-jhg3-3rg2 (CVE-2023-33252), iden3/snarkjs issue 358: a signal and the same plus the field's order.
  // iden3/snarkjs pull request 480: bounds by the base field's order, which lets 35 + r through.
  it.each([r, 2n * r, 5n * r, -r])("has one spelling of its public signals, not also that plus %s", async (more) => {
    expect(35n + r < q).toBe(true);
    const alias = (35n + more).toString();
    for (const signal of [alias, more > 0n ? `0x${(35n + more).toString(16)}` : alias])
      expect(await verify(scheme, { proof: proofOf(scheme), public_signals: [signal] }), signal).toBe(
        "witness_invalid",
      );
    expect(await verify(scheme, { proof: proofOf(scheme), witness: { Y: alias } })).toBe("witness_invalid");
  });

  // Verifiers that run over the shorter of two lists: a proof with signals left out, or with some of the caller's own.
  it("has as many public signals as its circuit", async () => {
    for (const signals of [[], ["35", "0"], ["35", "35"], ["0", "35"]])
      expect(await verify(scheme, { proof: proofOf(scheme), public_signals: signals })).toBe("witness_invalid");
  });

  // "Frozen Heart" (Trail of Bits, 2022): challenges that leave out the public signals, in snarkjs' PLONK among others.
  it("proves no other public signals", async () => {
    for (const signal of [34n, 36n, 0n, 1n, r - 1n, r - 35n])
      expect(await verify(scheme, { proof: proofOf(scheme), public_signals: [signal.toString()] })).toBe(false);
  });

  // "0" (Nguyen Thoi Minh Quan, IACR ePrint 2021/323): points at infinity and zeros, which satisfy careless equations.
  it("is not made of zeros and points at infinity", async () => {
    const zero = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(zero)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, zero(member)]))
          : "0";
    const infinity = (value: unknown): unknown =>
      Array.isArray(value) && value.length === 3 && typeof value[0] === "string" ? ["0", "1", "0"] : zero(value);
    for (const spoil of [zero, infinity]) {
      const { protocol, curve, ...members } = proofOf(scheme);
      const entries = Object.entries(members).map(([name, member]) => [name, spoil(member)]);
      const forged = { ...(Object.fromEntries(entries) as object), protocol, curve };
      for (const public_signals of [["35"], ["0"]])
        expect(await verify(scheme, { proof: forged, public_signals })).not.toBe(true);
    }
    const hex = "0".repeat(madeBy(scheme).result.proof.length);
    expect(await verify(scheme, { proof: hex, public_signals: ["35"] })).not.toBe(true);
  });

  // Coordinates that libraries reduce in silence: one proof has many spellings, and a list of seen proofs misses them.
  it("has one spelling of its coordinates", async () => {
    let spoilt = 0;
    const visit = async (value: unknown, rebuild: (changed: unknown) => object): Promise<void> => {
      if (typeof value === "string" && /^\d{60,}$/.test(value)) {
        spoilt += 1;
        for (const modulus of [q, r])
          expect(
            await verify(scheme, { proof: rebuild((BigInt(value) + modulus).toString()), public_signals: ["35"] }),
          ).not.toBe(true);
      } else if (Array.isArray(value))
        for (const [i, member] of value.entries()) await visit(member, (changed) => rebuild(value.with(i, changed)));
      else if (typeof value === "object" && value !== null)
        for (const [name, member] of Object.entries(value))
          await visit(member, (changed) => rebuild({ ...value, [name]: changed }));
    };
    await visit(proofOf(scheme), (changed) => changed as object);
    expect(spoilt).toBeGreaterThan(5);
  });

  it("is none of another scheme", async () => {
    for (const other of SCHEMES.filter((name) => name !== scheme))
      expect(await verify(scheme, { proof: proofOf(other), public_signals: ["35"] })).not.toBe(true);
  });
});

// iden3/snarkjs issue 383: anyone makes further valid proofs of a statement from one of Groth16, which is how the
// scheme is. Whoever must see that two are of one statement compares statement_hash, which is not of the proof's bytes.
it("a proof of Groth16 that is made from another is valid, and known by its statement", async () => {
  const { prover, result } = madeBy("groth16");
  const { pi_a, pi_b, pi_c } = proofOf("groth16") as { pi_a: string[]; pi_b: string[][]; pi_c: string[] };
  const { Point: G1 } = bn254.G1;
  const { Point: G2 } = bn254.G2;
  const [[x0, x1], [y0, y1]] = pi_b.map((pair) => pair.map(BigInt)) as [[bigint, bigint], [bigint, bigint]];
  const factor = 5n;
  const a = G1.fromAffine({ x: BigInt(pi_a[0]!), y: BigInt(pi_a[1]!) })
    .multiply(bn254.fields.Fr.inv(factor))
    .toAffine();
  const b = G2.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } })
    .multiply(factor)
    .toAffine();
  const proof = {
    ...proofOf("groth16"),
    pi_a: [String(a.x), String(a.y), "1"],
    pi_b: [
      [String(b.x.c0), String(b.x.c1)],
      [String(b.y.c0), String(b.y.c1)],
      ["1", "0"],
    ],
    pi_c,
  };
  const item = { proof, public_signals: ["35"] };
  expect(await test.provers.verify(principalOf(owner), prover.id, { item, store: true, signal: never })).toBe(true);
  const { body } = test.provers.listProofs(owner, prover.id, {
    page: 1,
    rpp: 25,
    statement_hash: result.statement_hash,
  });
  expect(body.map(({ origin }) => origin)).toEqual(["prove", "verify"]);
  expect(new Set(body.map(({ hash }) => hash)).size).toBe(2);
});
