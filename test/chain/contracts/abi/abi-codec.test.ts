/** Data of hostile contracts, as the decoder of the contract ABI meets it; values of every type are in abi-values. */
import { describe, expect, it } from "vitest";
import { AbiMismatch, decodeAbi, encodeAbi } from "../../../../src/chain/contracts/abi/abi-codec.js";
import { readType, type AbiType } from "../../../../src/chain/contracts/abi/abi-types.js";

function typeOf(type: string): AbiType {
  const read = readType({ type });
  if (read === undefined) throw new Error(`${type} is no type`);
  return read;
}

const word = (value: bigint | number): string => BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, "0");
const decode = (types: readonly string[], ...words: readonly (bigint | number | string)[]) =>
  decodeAbi(
    types.map(typeOf),
    Buffer.from(words.map((item) => (typeof item === "string" ? item : word(item))).join(""), "hex"),
  );

describe("the decoder of the contract ABI", () => {
  // SOURCE: https://docs.soliditylang.org/en/v0.8.30/abi-spec.html, "Use of Dynamic Types".
  it("reads and writes the example of the specification", () => {
    const types = ["uint256", "uint32[]", "bytes10", "bytes"].map(typeOf);
    const hex = [
      "0000000000000000000000000000000000000000000000000000000000000123",
      "0000000000000000000000000000000000000000000000000000000000000080",
      "3132333435363738393000000000000000000000000000000000000000000000",
      "00000000000000000000000000000000000000000000000000000000000000e0",
      "0000000000000000000000000000000000000000000000000000000000000002",
      "0000000000000000000000000000000000000000000000000000000000000456",
      "0000000000000000000000000000000000000000000000000000000000000789",
      "000000000000000000000000000000000000000000000000000000000000000d",
      "48656c6c6f2c20776f726c642100000000000000000000000000000000000000",
    ].join("");
    const values = [0x123n, [0x456n, 0x789n], "0x31323334353637383930", "0x48656c6c6f2c20776f726c6421"];
    expect(decodeAbi(types, Buffer.from(hex, "hex"))).toEqual(values);
    expect(Buffer.from(encodeAbi(types, values)).toString("hex")).toBe(hex);
  });

  it("takes the bounds of integers, and refuses what is beyond", () => {
    expect(decode(["uint8", "int8", "int8"], 255, 127, -128)).toEqual([255n, 127n, -128n]);
    expect(() => decode(["uint8"], 256)).toThrow("an integer does not fit its type");
    expect(() => decode(["int8"], 128)).toThrow("an integer does not fit its type");
    expect(() => decode(["int8"], -129)).toThrow("an integer does not fit its type");
  });

  it("refuses addresses, booleans and short bytes with other bits set", () => {
    expect(decode(["address", "bool"], 2n ** 160n - 1n, 1)).toEqual([`0x${"ff".repeat(20)}`, true]);
    expect(() => decode(["address"], 2n ** 160n)).toThrow("an address has more than 20 bytes");
    expect(() => decode(["bool"], 2)).toThrow("a boolean is neither 0 nor 1");
    expect(decode(["bytes4"], `deadbeef${"00".repeat(28)}`)).toEqual(["0xdeadbeef"]);
    expect(() => decode(["bytes4"], `deadbeef01${"00".repeat(27)}`)).toThrow("padding of bytes is not zero");
  });

  it("takes long bytes whose padding is missing or unclean", () => {
    expect(decode(["bytes"], 32, 2, "beef")).toEqual(["0xbeef"]);
    expect(decode(["bytes"], 32, 2, `beef${"11".repeat(30)}`)).toEqual(["0xbeef"]);
    expect(() => decode(["bytes"], 32, 3, "beef")).toThrow("the data ends early");
  });

  it("refuses offsets and lengths beyond the data, however large", () => {
    for (const far of [65, 2 ** 31, 2n ** 53n, 2n ** 255n]) {
      expect(() => decode(["bytes"], far, 0), String(far)).toThrow(AbiMismatch);
      expect(() => decode(["bytes"], 32, far), String(far)).toThrow(AbiMismatch);
      expect(() => decode(["uint256[]"], 32, far), String(far)).toThrow(AbiMismatch);
    }
    expect(() => decode(["uint256"])).toThrow("the data ends early");
  });

  it("does not follow lists whose elements all are the same next list", () => {
    // Each list has 64 elements, whose offsets all lead to the next list: 64^5 values in 11 KiB.
    const lists = Array.from({ length: 5 }, (_list, level) => [
      64,
      ...Array.from({ length: 64 }, () => (level === 4 ? 0 : 64 * 32)),
    ]).flat();
    expect(() => decode(["uint256[][][][][]"], 32, ...lists)).toThrow("the offsets lead to the same data too often");
  });

  it("counts long bytes that are read again and again", () => {
    const text = "61".repeat(32 * 200);
    const offsets = Array.from({ length: 200 }, () => 200 * 32);
    expect(() => decode(["bytes[]"], 32, 200, ...offsets, 32 * 200, text)).toThrow(
      "the offsets lead to the same data too often",
    );
  });
});
