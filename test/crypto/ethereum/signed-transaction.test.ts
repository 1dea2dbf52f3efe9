/** Signed transactions are read as viem writes them, and nothing else is read at all. */
import { serializeTransaction, type Hex, type TransactionSerializable } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { decodeRlp, encodeRlp, InvalidRlp, type RlpItem } from "../../../src/crypto/ethereum/rlp.js";
import { InvalidSignedTransaction, readSignedTransaction } from "../../../src/crypto/ethereum/signed-transaction.js";
import { seededRandom, type SeededRandom } from "../../support/seeded.js";

const bytes = (hex: string): Buffer => Buffer.from(hex.replace(/^0x/, ""), "hex");
const hexOf = (random: SeededRandom, length: number): Hex =>
  `0x${Array.from({ length }, () => random.below(256).toString(16).padStart(2, "0")).join("")}`;
const account = privateKeyToAccount(`0x${"46".repeat(32)}`);
const RECEIVER = "0x3535353535353535353535353535353535353535";

/** A transaction of a random type with members of random length. */
function randomTransaction(random: SeededRandom): TransactionSerializable {
  const shared = {
    chainId: 1 + random.below(1_000_000),
    nonce: random.pick([0, 1, 127, 128, 65_536, 2 ** 40]),
    gas: BigInt(21_000 + random.below(1_000_000)),
    value: BigInt(hexOf(random, 1 + random.below(31))) * BigInt(random.below(2)),
    data: random.chance(0.3) ? ("0x" as const) : hexOf(random, 1 + random.below(300)),
    ...(random.chance(0.8) ? { to: hexOf(random, 20) } : {}),
  };
  const accessList = Array.from({ length: random.below(3) }, () => ({
    address: hexOf(random, 20),
    storageKeys: Array.from({ length: random.below(3) }, () => hexOf(random, 32)),
  }));
  const fee = BigInt(random.below(2 ** 31));
  switch (random.below(3)) {
    case 0:
      return { ...shared, type: "legacy", gasPrice: fee };
    case 1:
      return { ...shared, type: "eip2930", gasPrice: fee, accessList };
    default:
      return { ...shared, type: "eip1559", maxFeePerGas: fee + 5n, maxPriorityFeePerGas: fee, accessList };
  }
}

describe("signed transactions", () => {
  // SOURCE: https://eips.ethereum.org/EIPS/eip-155, "Example".
  it("are read as EIP-155 has its example", () => {
    const raw =
      "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
    expect(readSignedTransaction(bytes(raw))).toMatchObject({
      ...{ type: 0, chainId: 1n, nonce: 9n, gasPrice: 20_000_000_000n, gas: 21_000n, value: 10n ** 18n },
      ...{ to: RECEIVER, from: "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F" },
    });
  });

  it("of every type come back with their members and signer", async () => {
    const random = seededRandom();
    const note = `seed ${String(random.seed)}`;
    for (let round = 0; round < 60; round += 1) {
      const transaction = randomTransaction(random);
      const read = readSignedTransaction(bytes(await account.signTransaction(transaction)));
      expect(read.from, note).toBe(account.address);
      expect(read.to?.toLowerCase() ?? undefined, note).toBe(transaction.to ?? undefined);
      expect(
        [read.chainId, read.nonce, read.gas, read.value, `0x${Buffer.from(read.data).toString("hex")}`],
        note,
      ).toEqual([
        BigInt(transaction.chainId ?? 0),
        BigInt(transaction.nonce ?? 0),
        transaction.gas,
        transaction.value,
        transaction.data,
      ]);
      const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction;
      expect([read.gasPrice, read.maxFeePerGas, read.maxPriorityFeePerGas], note).toEqual([
        gasPrice,
        maxFeePerGas,
        maxPriorityFeePerGas,
      ]);
      expect(read.accessList.length, note).toBe(transaction.accessList?.length ?? 0);
    }
  });

  it("without replay protection have no chain", async () => {
    const raw = await account.signTransaction({ type: "legacy", nonce: 1, gas: 21_000n, gasPrice: 1n, to: RECEIVER });
    expect(readSignedTransaction(bytes(raw))).toMatchObject({ chainId: undefined, from: account.address });
  });

  it("are refused with any byte cut off, and with one more", async () => {
    const raw = bytes(await account.signTransaction({ type: "eip1559", chainId: 5, nonce: 3, to: RECEIVER }));
    for (let length = 0; length < raw.length; length += 1)
      expect(() => readSignedTransaction(raw.subarray(0, length)), String(length)).toThrow(InvalidSignedTransaction);
    expect(() => readSignedTransaction(Buffer.concat([raw, Buffer.from([0])]))).toThrow(InvalidSignedTransaction);
  });

  it("without a signature, with a high s, and with r of 0 are refused", async () => {
    const unsigned = serializeTransaction({ type: "eip1559", chainId: 5, nonce: 3, to: RECEIVER });
    expect(() => readSignedTransaction(bytes(unsigned))).toThrow("it has not 12 members");
    const raw = bytes(await account.signTransaction({ type: "eip1559", chainId: 5, nonce: 3, to: RECEIVER }));
    const fields = decodeRlp(raw.subarray(1)) as Uint8Array[];
    const withTail = (...tail: readonly Uint8Array[]): Uint8Array =>
      Buffer.concat([Buffer.from([2]), encodeRlp([...fields.slice(0, -tail.length), ...tail])]);
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = BigInt(`0x${Buffer.from(fields.at(-1) ?? []).toString("hex")}`);
    const high = bytes((order - s).toString(16).padStart(64, "0"));
    expect(() => readSignedTransaction(withTail(high))).toThrow("its signature has a high s");
    expect(() => readSignedTransaction(withTail(new Uint8Array(), fields.at(-1) ?? new Uint8Array()))).toThrow(
      "its signature is none of any key",
    );
  });

  it.each([
    ["a leading zero in a number", 1, Uint8Array.of(0, 3), "a number has leading zeros"],
    ["a nonce above 64 bits", 1, new Uint8Array(9).fill(1), "a number is too large"],
    ["a recipient of 19 bytes", 5, new Uint8Array(19).fill(1), "an address is not 20 bytes"],
    ["a list for a number", 1, [], "a list stands where bytes belong"],
    ["bytes for the access list", 8, Uint8Array.of(1), "bytes stand where a list belongs"],
    ["a parity of 2", 9, Uint8Array.of(2), "its parity is neither 0 nor 1"],
  ])("with %s are refused", async (_what, at, item, message) => {
    const raw = bytes(await account.signTransaction({ type: "eip1559", chainId: 5, nonce: 3, to: RECEIVER }));
    const fields = [...(decodeRlp(raw.subarray(1)) as RlpItem[])];
    fields[at] = item;
    expect(() => readSignedTransaction(Buffer.concat([Buffer.from([2]), encodeRlp(fields)]))).toThrow(message);
  });
});

describe("RLP is decoded", () => {
  it("to what was encoded", () => {
    const random = seededRandom();
    const note = `seed ${String(random.seed)}`;
    const item = (depth: number): RlpItem =>
      depth > 3 || random.chance(0.5)
        ? bytes(hexOf(random, random.pick([0, 1, 2, 55, 56, 300])))
        : Array.from({ length: random.below(5) }, () => item(depth + 1));
    for (let round = 0; round < 100; round += 1) {
      const encoded = encodeRlp(item(0));
      expect(Buffer.from(encodeRlp(decodeRlp(encoded))).toString("hex"), note).toBe(
        Buffer.from(encoded).toString("hex"),
      );
    }
  });

  it.each([
    ["a byte with a length", "8101"],
    ["a long length where a short one fits", "b80161"],
    ["a length with a leading zero", `b90038${"61".repeat(56)}`],
    ["a list that ends inside an item", "c28261"],
    ["a length beyond the data", "bbffffffff61"],
    ["a length of 8 bytes", "bfffffffffffffffff61"],
    ["nine lists in each other", "c8c7c6c5c4c3c2c1c0"],
    ["nothing", ""],
    ["two items", "6161"],
  ])("never from %s", (_what, hex) => {
    expect(() => decodeRlp(bytes(hex))).toThrow(InvalidRlp);
  });
});
