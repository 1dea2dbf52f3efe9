import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { rootOfUnity } from "../../../../src/engine/curves/curve-parameters.js";
import { Domain, vectorBytes, writeCosetScale, writeDomainTables } from "../../../../src/engine/kernels/ntt/domain.js";
import { inverse, power } from "../../../../src/engine/field/prime-field.js";
import { KERNEL_KINDS, bigBelow, kernelSetup, modulo, writeScalars } from "../../../support/kernels.js";
import { evaluateAll, reversedBits } from "../../../support/ntt.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const r = BN254.r;

describe.each(KERNEL_KINDS)("transforms, %s, seed " + String(random.seed), (kind) => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])(
    "evaluates 2^%i coefficients on the domain, and their polynomial on a coset",
    (log) => {
      const setup = kernelSetup(kind, 160);
      const { kernels, arena } = setup;
      const size = 2 ** log;
      const edges = [0n, 1n, r - 1n, r / 2n];
      const input = Array.from({ length: size }, (_, i) => edges[i] ?? bigBelow(random, r));
      const bytes = vectorBytes(kernels, log);
      const [tables, scale, data, elements, scratch] = [bytes, bytes, bytes, size * kernels.fr.elementBytes, 512].map(
        (each) => arena.take(each),
      ) as [number, number, number, number, number];
      const shift = rootOfUnity(kernels.curve, log + 1);
      writeDomainTables(kernels, log, { target: tables, scratch });
      writeCosetScale(kernels, { log, shift }, { target: scale, scratch });
      kernels.call("fr_import_raw", elements, writeScalars(setup, input), size);
      kernels.call("fr_scatter_blocks", data, elements, 0, size);
      const read = (): bigint[] =>
        arena.scoped(() => {
          const out = arena.take(32 * size);
          kernels.call("fr_gather_blocks", elements, data, 0, size);
          kernels.call("fr_export_raw", out, elements, size);
          return Array.from({ length: size }, (_, i) => kernels.readInteger(out + 32 * i, 32));
        });
      const domain = new Domain(kernels, log, tables);
      domain.forward(data);
      const root = rootOfUnity(kernels.curve, log);
      const values = evaluateAll(input, root, r);
      expect(read()).toEqual(values.map((_, place) => values[reversedBits(place, log)]!));

      // The same numbers taken as values: interpolate, scale, evaluate on the coset; place i answers for the point
      // shift * root^-i.
      kernels.call("fr_mul_blocks", data, data, scale, Math.max(1, size / kernels.fr.lanes));
      domain.backward(data);
      const inverseSize = inverse(BigInt(size), r);
      const coefficients = values.map((_, j) =>
        modulo(values[(size - j) % size]! * inverseSize * power(shift, BigInt(j), r), r),
      );
      const onCoset = evaluateAll(coefficients, root, r);
      expect(read()).toEqual(onCoset.map((_, i) => onCoset[(size - i) % size]!));
    },
  );
});
