/** Circuits whose keys are too large for one memory: refused before anything is computed. */
import { expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { makeGroth16Key } from "../../../src/engine/groth16/make-key.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { SetupInputError, setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { groth16KeyBytes } from "../../../src/engine/kernels/groth16/build-resident-key.js";
import { makeKeyResident } from "../../../src/engine/kernels/groth16/resident-proving.js";
import { KeyTooLargeError, keyMemoryPages, sizingKernels } from "../../../src/engine/kernels/threads/key-memory.js";
import { chainFixture, cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";

it("is refused with its cause where no memory holds the key", async () => {
  const { r1cs } = cubicFixture(3n);
  const large = { ...r1cs, constraintCount: 2 ** 22 - 4, wireCount: 2 ** 22 };
  await expect(setupGroth16(large)).rejects.toThrow(SetupInputError);
  await expect(setupGroth16(large)).rejects.toThrow("4 GiB");
});

it("has room for the different coefficients alone, and says when a memory has not even that", async () => {
  // A different constant in each row.
  const fixture = chainFixture(600);
  const made = await makeGroth16Key(r1csFile(fixture));
  if (!made.ok) throw new Error(made.message);
  const key = readProvingKey(made.zkey);
  const [one, two] = [makeKeyResident(key, { workspaces: 1 }), makeKeyResident(key, { workspaces: 1, helpers: 2 })];
  expect(two.memory.buffer.byteLength).toBeGreaterThan(one.memory.buffer.byteLength);
  expect(two.helperPlaces).toHaveLength(2);
  const memoryBytesMax = one.memory.buffer.byteLength;
  const small = (bytes: number) => () => makeKeyResident(key, { workspaces: 1, memoryBytesMax: bytes });
  expect(small(memoryBytesMax)().keyBytes).toBe(one.keyBytes);
  expect(small(memoryBytesMax - 1)).toThrow(KeyTooLargeError);
  const counts = { wireCount: key.wireCount, domainPower: key.domainPower, termCount: 5_000, g1Bytes: 0, g2Bytes: 0 };
  const kernels = sizingKernels({ curve: BN254 });
  const pages = (distinctCount?: number): number =>
    keyMemoryPages(groth16KeyBytes(kernels, { ...counts, ...(distinctCount === undefined ? {} : { distinctCount }) }), {
      workspaces: 1,
    });
  expect(pages(10)).toBeLessThan(pages());
});
