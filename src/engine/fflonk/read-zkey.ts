/**
 * Reads what a `.zkey` of snarkjs for FFLONK says of its circuit and setup. The polynomials in it follow from the gates
 * and are not read: the caller builds the key from what is returned, and compares its commitment with the file's
 * (`verifyingKey.c0`), which then holds for all of them. That the powers are those of one secret is not checked here.
 */
import { BN254 } from "../curves/bn254.js";
import { decodeG1, decodeG2 } from "../curves/points.js";
import { readBigIntLE } from "../field/bytes.js";
import { inverse } from "../field/prime-field.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import type { FflonkSetupPoints } from "../kernels/fflonk/build-fflonk-key.js";
import { GATE_WIRES, SELECTORS } from "../plonk/plonk-gates.js";
import type { PlonkGates } from "../plonk/plonk-gates.js";
import {
  VALUES_PER_COEFFICIENT,
  ZkeyFormatError,
  montgomeryBytes,
  readZkeySections,
  wordAt,
  zkeyAdditionBytes,
} from "../plonk/zkey/zkey-parts.js";
import { fflonkDomainPowerOf, fflonkPowerCount } from "./fflonk-values.js";
import type { FflonkVerifyingKey } from "./fflonk-values.js";
import { FFLONK_PROTOCOL, FFLONK_SECTION, HEADER_AT, headerConstants } from "./fflonk-zkey-layout.js";

export interface FflonkZkey {
  readonly gates: PlonkGates;
  readonly setup: FflonkSetupPoints;
  /** What the header claims. */
  readonly verifyingKey: FflonkVerifyingKey;
}

type Sections = ReadonlyMap<number, Uint8Array>;

const { frBytes, r } = BN254;
const ADDITION_BYTES = zkeyAdditionBytes(BN254);

/**
 * Reads a file; the powers are a view of its bytes. About two microseconds for each gate.
 * @throws ZkeyFormatError when it is truncated, of another scheme or curve, or does not hold together
 */
export function readFflonkZkey(bytes: Uint8Array): FflonkZkey {
  const sections = readZkeySections(bytes);
  const protocol = contentOf(sections, "protocol", 4);
  if (wordAt(protocol, 0) !== FFLONK_PROTOCOL) throw new ZkeyFormatError("the file is of another proving scheme");
  const { verifyingKey, counts } = readHeader(contentOf(sections, "header", HEADER_AT.end));
  const powerBytes = fflonkPowerCount(verifyingKey.domainPower) * 2 * BN254.fqBytes;
  const powers = contentOf(sections, "powers", powerBytes);
  const gates = readGates(sections, { ...counts, publicCount: verifyingKey.publicCount });
  return { gates, setup: { powers, tauG2: verifyingKey.tauG2 }, verifyingKey };
}

function contentOf(sections: Sections, name: keyof typeof FFLONK_SECTION, length: number): Uint8Array {
  const content = sections.get(FFLONK_SECTION[name]);
  if (content?.length !== length) throw new ZkeyFormatError(`section ${name} is missing or has a wrong length`);
  return content;
}

interface HeaderCounts {
  readonly wireCount: number;
  readonly size: number;
  readonly additionCount: number;
  readonly gateCount: number;
}

function readHeader(header: Uint8Array): {
  readonly verifyingKey: FflonkVerifyingKey;
  readonly counts: HeaderCounts;
} {
  const { q } = BN254;
  if (readBigIntLE(header, HEADER_AT.q) !== q || readBigIntLE(header, HEADER_AT.r) !== r)
    throw new ZkeyFormatError("the file is over another curve than BN254");
  const [wireCount, publicCount, size, additionCount, gateCount] = [0, 1, 2, 3, 4].map((i) =>
    wordAt(header, HEADER_AT.counts + 4 * i),
  ) as [number, number, number, number, number];
  const domainPower = Math.log2(size);
  if (
    !Number.isInteger(domainPower) ||
    domainPower > BN254.twoAdicity - 2 ||
    domainPower !== fflonkDomainPowerOf(gateCount) ||
    additionCount >= wireCount ||
    publicCount >= wireCount - additionCount ||
    publicCount > Math.min(gateCount, PUBLIC_SIGNALS_MAX)
  )
    throw new ZkeyFormatError("the counts of the header do not belong together");
  const expected = Buffer.concat(headerConstants(domainPower).map((value) => montgomeryBytes(value, BN254)));
  if (!expected.equals(header.subarray(HEADER_AT.constants, HEADER_AT.tauG2)))
    throw new ZkeyFormatError("the roots or factors of the header are not those of its domain");
  const [tauG2, c0] = [decodeG2(header, HEADER_AT.tauG2, BN254), decodeG1(header, HEADER_AT.c0, BN254)];
  if (tauG2 === undefined || c0 === undefined) throw new ZkeyFormatError("a point of the header is not on its curve");
  const verifyingKey = { curve: BN254.name, publicCount, domainPower, c0, tauG2 };
  return { verifyingKey, counts: { wireCount, size, additionCount, gateCount } };
}

function readGates(sections: Sections, counts: HeaderCounts & { readonly publicCount: number }): PlonkGates {
  const { wireCount, size, additionCount, gateCount, publicCount } = counts;
  const numbers = new FieldNumbers();
  const wire = (bytes: Uint8Array, at: number, limit: number): number => {
    const number = wordAt(bytes, at);
    if (number >= limit) throw new ZkeyFormatError("a gate or an addition names a wire that does not exist");
    return number;
  };
  const wires = Object.fromEntries(
    GATE_WIRES.map((name) => {
      const map = contentOf(sections, name, 4 * gateCount);
      return [name, Uint32Array.from({ length: gateCount }, (_, i) => wire(map, 4 * i, wireCount))];
    }),
  ) as PlonkGates["wires"];
  const selectors = Object.fromEntries(
    SELECTORS.map((name) => {
      const polynomial = contentOf(sections, name, (1 + VALUES_PER_COEFFICIENT) * size * frBytes);
      // Each fourth value is one on the domain.
      const at = (row: number): number => (size + VALUES_PER_COEFFICIENT * row) * frBytes;
      return [name, Uint32Array.from({ length: gateCount }, (_, row) => numbers.read(polynomial, at(row)))];
    }),
  ) as PlonkGates["selectors"];
  const table = contentOf(sections, "additions", additionCount * ADDITION_BYTES);
  const systemWireCount = wireCount - additionCount;
  const column = (read: (at: number, i: number) => number): Uint32Array =>
    Uint32Array.from({ length: additionCount }, (_, i) => read(i * ADDITION_BYTES, i));
  const additions = {
    count: additionCount,
    // An addition takes wires of the system and earlier additions only.
    left: column((at, i) => wire(table, at, systemWireCount + i)),
    right: column((at, i) => wire(table, at + 4, systemWireCount + i)),
    leftFactor: column((at) => numbers.read(table, at + 8)),
    rightFactor: column((at) => numbers.read(table, at + 8 + frBytes)),
  };
  return { publicCount, gateCount, systemWireCount, additions, wires, selectors, coefficients: numbers.values };
}

/** Gives each distinct element of the field a number, 0 and 1 to those that are 0 and 1. */
class FieldNumbers {
  readonly values: bigint[] = [0n, 1n];
  /** By their bytes: most numbers come again, and become integers once. */
  readonly #numbers = new Map<string, number>(
    [0n, 1n].map((value, i) => [bytesOf(montgomeryBytes(value, BN254), 0), i]),
  );

  read(bytes: Uint8Array, at: number): number {
    const key = bytesOf(bytes, at);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const stored = readBigIntLE(bytes, at, frBytes);
    if (stored >= r) throw new ZkeyFormatError("a number is not below the field's modulus");
    const number = this.values.push((stored * RADIX_INVERSE) % r) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

const RADIX_INVERSE = inverse(1n << BigInt(8 * frBytes), r);

function bytesOf(bytes: Uint8Array, at: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, frBytes).toString("latin1");
}
