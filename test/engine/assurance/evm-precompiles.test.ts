/** The EVM's precompiles on the reference backend answer what those of the EVM's own package answer. */
import { NobleBN254, type ExecResult, type PrecompileInput } from "@ethereumjs/evm";
import { bn254 } from "@noble/curves/bn254.js";
import { beforeAll, describe, expect, it } from "vitest";
import { bn254Precompiles } from "../../../src/engine/assurance/evm-precompiles.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";

type Operation = "add" | "mul" | "pairing";

const GAS = 10_000_000n;
const noble = new NobleBN254();
const G1 = bn254.G1.Point.BASE;
const G2 = bn254.G2.Point.BASE;
const ours = new Map<Operation, (input: PrecompileInput) => ExecResult | Promise<ExecResult>>();

beforeAll(async () => {
  const made = bn254Precompiles(await loadReferenceKernels(BN254));
  for (const [i, name] of (["add", "mul", "pairing"] as const).entries()) {
    const each = made[i];
    if (each === undefined || !("function" in each)) throw new Error("a precompile is missing");
    ours.set(name, each.function);
  }
});

async function run(name: Operation, input: string, gasLimit = GAS): Promise<ExecResult> {
  const data = Uint8Array.from(Buffer.from(input, "hex"));
  return (await ours.get(name)?.({ data, gasLimit } as PrecompileInput)) as ExecResult;
}

const word = (value: bigint): string => value.toString(16).padStart(64, "0");
function g1(factor: bigint): string {
  const { x, y } = G1.multiply(factor).toAffine();
  return word(x) + word(y);
}
function g2(factor: bigint): string {
  const { x, y } = G2.multiply(factor).toAffine();
  return [x.c1, x.c0, y.c1, y.c0].map(word).join("");
}
const INFINITY = "00".repeat(64);
const { r, q } = BN254;

describe("the precompiles of BN254", () => {
  it.each([
    ["add", g1(3n) + g1(5n)],
    ["add", g1(3n) + g1(3n)],
    ["add", g1(3n) + g1(r - 3n)],
    ["add", g1(3n) + INFINITY],
    ["add", g1(3n)],
    ["add", ""],
    ["mul", g1(3n) + word(7n)],
    ["mul", g1(3n) + word(r + 7n)],
    ["mul", g1(3n) + word(r)],
    ["mul", g1(3n) + word(2n ** 256n - 1n)],
    ["mul", g1(3n)],
    ["pairing", g1(3n) + g2(5n) + g1(r - 15n) + g2(1n)],
    ["pairing", g1(3n) + g2(5n) + g1(15n) + g2(1n)],
    ["pairing", ""],
  ] as const)("compute %s as noble does", async (name, input) => {
    const padded = name === "pairing" ? input : input.padEnd(name === "add" ? 256 : 192, "0");
    const expected = noble[name](Uint8Array.from(Buffer.from(padded, "hex")));
    const { returnValue, exceptionError } = await run(name, input);
    expect(exceptionError).toBeUndefined();
    expect(Buffer.from(returnValue).toString("hex")).toBe(Buffer.from(expected).toString("hex"));
  });

  it("leave pairs with infinity out", async () => {
    const pairs = [INFINITY + g2(5n), g1(3n) + "00".repeat(128)];
    for (const pair of [...pairs, pairs.join("")])
      expect(Buffer.from((await run("pairing", pair)).returnValue).toString("hex")).toBe(word(1n));
  });

  it("refuse what is no point, not in the subgroup, or of another length, and take all gas", async () => {
    const { x, y } = G2.toAffine();
    const swapped = [x.c0, x.c1, y.c0, y.c1].map(word).join("");
    const refused = [
      ["add", word(1n) + word(3n)],
      ["add", word(q + 1n) + word(2n)],
      ["mul", word(1n) + word(3n) + word(1n)],
      ["pairing", g1(1n) + swapped],
      ["pairing", g1(1n) + offSubgroup()],
      ["pairing", g1(1n)],
    ] as const;
    for (const [name, input] of refused) {
      const { exceptionError, executionGasUsed, returnValue } = await run(name, input);
      expect([exceptionError !== undefined, executionGasUsed, returnValue.length]).toEqual([true, GAS, 0]);
    }
    expect(await run("pairing", g1(1n) + g2(1n), 1000n)).toMatchObject({ executionGasUsed: 1000n });
  });
});

/** A point of the twist that is not in G2: the first whose x is a small number. */
function offSubgroup(): string {
  const { Fp2 } = bn254.fields;
  for (let c0 = 1n; ; c0 += 1n) {
    const x = Fp2.fromBigTuple([c0, 0n]);
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), bn254.G2.Point.CURVE().b);
    let y: typeof x;
    try {
      y = Fp2.sqrt(square);
    } catch {
      continue;
    }
    return [x.c1, x.c0, y.c1, y.c0].map(word).join("");
  }
}
