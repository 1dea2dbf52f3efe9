/** FFLONK keys as snarkjs' files: byte for byte the same from here and there, and files that hold something else. */
import { describe, expect, it } from "vitest";
import { fflonkDomainPowerOf, fflonkPowerCount } from "../../../src/engine/fflonk/fflonk-values.js";
import { readFflonkZkey } from "../../../src/engine/fflonk/read-zkey.js";
import { HEADER_AT } from "../../../src/engine/fflonk/fflonk-zkey-layout.js";
import { buildFflonkKey } from "../../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { writeFflonkZkey } from "../../../src/engine/kernels/fflonk/write-fflonk-zkey.js";
import { makeDevelopmentPowers } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { ZkeyFormatError } from "../../../src/engine/plonk/zkey/zkey-parts.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { snarkjsFflonk, snarkjsFflonkKey } from "../../support/fflonk-fixtures.js";
import { cancellingFixture, cubicFixture, mixedFixture } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();

async function setUp(fixture: Fixture) {
  const gates = gatesOf(fixture.r1cs, { dropsZeroTerms: true });
  const domainPower = fflonkDomainPowerOf(gates.gateCount);
  const points = await makeDevelopmentPowers(await loadReferenceKernels(), fflonkPowerCount(domainPower));
  const key = buildFflonkKey(gates, points, { workspaces: 1 });
  return { gates, points, domainPower, key, file: Buffer.concat([...writeFflonkZkey(key, gates, points)]) };
}

/** Where each section's content begins, by its number. */
function sectionsOf(file: Buffer): Map<number, number> {
  const places = new Map<number, number>();
  for (let at = 12; at < file.length; at += 12 + Number(file.readBigUInt64LE(at + 4)))
    places.set(file.readUInt32LE(at), at + 12);
  return places;
}

describe(`an FFLONK zkey, seed ${String(random.seed)}`, () => {
  it.each([
    ["two rows", cubicFixture(3n)],
    ["terms that cancel", cancellingFixture(2n, 9n)],
    ["every kind of row", mixedFixture(40, random)],
  ])("is snarkjs' own, and gives the same key when it is read, for %s", async (_name, fixture) => {
    const { gates, points, domainPower, key, file } = await setUp(fixture);
    const theirs = await snarkjsFflonkKey(await snarkjsFflonk(), fixture, { points, domainPower });
    expect(file.equals(theirs.zkey.data ?? new Uint8Array(0))).toBe(true);
    const read = readFflonkZkey(file);
    expect(read.verifyingKey).toEqual(key.verifyingKey);
    expect(read.gates.wires).toEqual(gates.wires);
    expect(buildFflonkKey(read.gates, read.setup, { workspaces: 1 }).verifyingKey).toEqual(key.verifyingKey);
    expect(new Int32Array(key.memory.buffer, key.workspaceFlags, 1)[0]).toBe(0);
  });

  it("is refused when it is cut off, goes on, or says what cannot be", async () => {
    const { file } = await setUp(cubicFixture(3n));
    const places = sectionsOf(file);
    const at = (section: number): number => places.get(section) ?? 0;
    const changed = (place: number, value: number): Buffer => {
      const copy = Buffer.from(file);
      copy.writeUInt32LE(value, place);
      return copy;
    };
    const header = at(2);
    const [wires, publics, size, additions, gates] = [0, 4, 8, 12, 16].map((more) => header + HEADER_AT.counts + more);
    const wrong = [
      file.subarray(0, -1),
      file.subarray(0, 11),
      Buffer.concat([file, Buffer.alloc(1)]),
      changed(0, 1),
      changed(4, 2),
      changed(8, 65),
      changed(8, 16),
      changed(at(1), 2),
      changed(header + HEADER_AT.q, 0),
      changed(header + HEADER_AT.r, 0),
      changed(wires ?? 0, 0),
      changed(publics ?? 0, 7),
      changed(size ?? 0, 16),
      changed(additions ?? 0, 3),
      changed(gates ?? 0, 7),
      changed(header + HEADER_AT.constants, 5),
      changed(header + HEADER_AT.tauG2, 5),
      changed(header + HEADER_AT.c0, 5),
      // A gate's wire, a section's number and length.
      changed(at(4), 2 ** 20),
      changed(at(7) - 12, 8),
      changed(at(7) - 8, 32),
    ];
    for (const each of wrong) expect(() => readFflonkZkey(each)).toThrow(ZkeyFormatError);
    // A selector's value that is no number of the field.
    const polynomial = Buffer.from(file);
    polynomial.fill(0xff, at(7) + 8 * 32, at(7) + 9 * 32);
    expect(() => readFflonkZkey(polynomial)).toThrow(ZkeyFormatError);
  });

  it("with other gates than its commitment is found out when the key is built", async () => {
    const { file, key } = await setUp(cubicFixture(3n));
    const places = sectionsOf(file);
    const other = Buffer.from(file);
    // The second gate's first wire becomes the constant's.
    other.writeUInt32LE(0, (places.get(4) ?? 0) + 4);
    const read = readFflonkZkey(other);
    expect(read.verifyingKey.c0).toEqual(key.verifyingKey.c0);
    expect(buildFflonkKey(read.gates, read.setup, { workspaces: 1 }).verifyingKey.c0).not.toEqual(key.verifyingKey.c0);
  });
});
