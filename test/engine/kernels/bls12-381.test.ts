import { bls12_381 } from "@noble/curves/bls12-381.js";
import { describe, expect, it } from "vitest";
import { Arena } from "../../../src/engine/kernels/wasm/arena.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import { Domain, vectorBytes, writeDomainTables } from "../../../src/engine/kernels/ntt/domain.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../../src/engine/kernels/kernels.js";
import { Msm } from "../../../src/engine/kernels/msm/msm.js";
import { KERNEL_KINDS, bigBelow, modulo, readPoint, writeScalars } from "../../support/kernels.js";
import type { Group } from "../../support/kernels.js";
import { evaluateAll, reversedBits } from "../../support/ntt.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const r = BLS12_381.r;
const GROUPS: readonly Group[] = ["g1", "g2"];

function multiple(group: Group, log: bigint): bigint[] | undefined {
  const scalar = modulo(log, r);
  if (scalar === 0n) return undefined;
  if (group === "g1") {
    const { x, y } = bls12_381.G1.Point.BASE.multiply(scalar).toAffine();
    return [x, y];
  }
  const { x, y } = bls12_381.G2.Point.BASE.multiply(scalar).toAffine();
  return [x.c0, x.c1, y.c0, y.c1];
}

describe.each(KERNEL_KINDS)("BLS12-381 as a second set of constants, %s, seed " + String(random.seed), (kind) => {
  const kernels = loadKernels({ curve: BLS12_381, preferred: kind, pages: 640 });
  const arena = new Arena(KERNEL_RESERVED_BYTES, 640 * 65_536);
  const setup = { kernels, arena };

  it.each(GROUPS)("sums multiples in %s like noble", (group) => {
    const logs = [1n, 2n, 2n, r - 2n, 5n, ...Array.from({ length: 35 }, () => bigBelow(random, r))];
    const scalars = [0n, 1n, r - 1n, ...Array.from({ length: 37 }, () => bigBelow(random, r))];
    arena.scoped(() => {
      const { pointBytes } = kernels[group];
      const points = arena.take(logs.length * pointBytes),
        scratch = arena.take(256),
        target = arena.take(pointBytes);
      logs.forEach((log, i) => {
        kernels.writePoint(points + i * pointBytes, multiple(group, log)!, scratch);
      });
      new Msm(kernels, group, arena).run(
        { points, scalars: writeScalars(setup, scalars), indices: 0, count: logs.length },
        target,
      );
      expect(readPoint(setup, group, target)).toEqual(
        multiple(
          group,
          logs.reduce((sum, log, i) => sum + log * scalars[i]!, 0n),
        ),
      );
    });
  });

  it("transforms over its scalar field", () => {
    const log = 9,
      size = 2 ** log;
    const input = Array.from({ length: size }, () => bigBelow(random, r));
    arena.scoped(() => {
      const [tables, data, elements, out] = [
        vectorBytes(kernels, log),
        vectorBytes(kernels, log),
        size * kernels.fr.elementBytes,
        32 * size,
      ].map((bytes) => arena.take(bytes)) as [number, number, number, number];
      writeDomainTables(kernels, log, { target: tables, scratch: arena.take(512) });
      kernels.call("fr_import_raw", elements, writeScalars(setup, input), size);
      kernels.call("fr_scatter_blocks", data, elements, 0, size);
      new Domain(kernels, log, tables).forward(data);
      kernels.call("fr_gather_blocks", elements, data, 0, size);
      kernels.call("fr_export_raw", out, elements, size);
      const values = evaluateAll(input, rootOfUnity(kernels.curve, log), r);
      expect(input.map((_, i) => kernels.readInteger(out + 32 * i, 32))).toEqual(
        values.map((_, place) => values[reversedBits(place, log)]!),
      );
    });
  });
});
