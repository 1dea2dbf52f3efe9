/**
 * The Ed25519 kernel against RFC 8032, OpenSSL and noble, at the ends of its numbers, and with faults in it. Needs
 * fused multiply-add.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { privateKeyOfSeed, rawPublicKey } from "../../../src/crypto/signatures/der-keys.js";
import { FIELD_PRIME, GROUP_ORDER, SECOND_FACTOR } from "../../../src/engine/kernels/ed25519/base-table.js";
import { ed25519Signer, type Copies } from "../../../src/engine/kernels/ed25519/signer.js";
import {
  buildSigningModule,
  HASH_BYTES,
  PAIR_BYTES,
  POINT_BYTES,
  TABLE_BYTES,
  tableLimbs,
  WORD_BYTES,
} from "../../../src/engine/kernels/ed25519/signing-module.js";
import { hasFusedMultiplyAdd } from "../../../src/engine/kernels/wasm/features.js";
import { inverseModulo } from "../../../src/engine/kernels/field/integers.js";
import { wasmHost } from "../../../src/engine/kernels/wasm/wasm-host.js";
import { bigBelow, modulo } from "../../support/kernels.js";
import { seededRandom } from "../../support/seeded.js";

// SOURCE: RFC 8032 section 7.1, TEST 1, 2, 3 and SHA(abc).
const RFC8032 = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  ],
  [
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  ],
  [
    "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
    createHash("sha512").update("abc").digest("hex"),
    "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
  ],
] as const;

const random = seededRandom();
const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)));
const laneKey = (seed: Uint8Array): Buffer =>
  Buffer.concat([
    createHash("sha512").update(seed).digest(),
    rawPublicKey(
      "ed25519",
      createPublicKey(
        createPrivateKey({ key: privateKeyOfSeed("ed25519", seed).export({ format: "pem", type: "pkcs8" }) }),
      ),
    ),
  ]);
const keysOf = (seed: Uint8Array): Copies => [laneKey(seed), laneKey(seed)];
const hexOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString("hex");

describe.runIf(hasFusedMultiplyAdd())("Ed25519 on fused multiply-add, seed " + String(random.seed), () => {
  const signer = ed25519Signer()!;

  it.each(RFC8032)("signs as RFC 8032 does with seed %s", (seed, message, signature) => {
    expect(signer.sign(keysOf(Buffer.from(seed, "hex")), [Buffer.from(message, "hex")]).map(hexOf)).toEqual([
      signature,
    ]);
  });

  it("signs as OpenSSL does, for any number and length of messages", () => {
    for (const [count, length] of [
      [0, 0],
      [1, 0],
      [2, 1],
      [63, 32],
      [64, 111],
      [65, 112],
      [130, 80],
      [3, 895],
      [2, 896],
      [2, 1024],
      [2, 65_536],
    ] as const) {
      const seed = bytesOf(32);
      const key = privateKeyOfSeed("ed25519", seed);
      const messages = Array.from({ length: count }, () => bytesOf(length));
      expect(signer.sign(keysOf(seed), messages).map(hexOf)).toEqual(
        messages.map((message) => sign(null, message, key).toString("hex")),
      );
    }
  });

  it("leaves the keys and the messages as they are", () => {
    const keys = keysOf(bytesOf(32)),
      message = bytesOf(40);
    const before = [...keys, message].map(hexOf);
    signer.sign(keys, [message]);
    expect([...keys, message].map(hexOf)).toEqual(before);
  });

  it("takes keys of one length only", () => {
    const keys = keysOf(bytesOf(32));
    expect(() => signer.sign([keys[0], keys[1].subarray(1)], [bytesOf(1)])).toThrow("a key is not 96 bytes");
  });

  it.each([
    ["secret scalar", 5],
    ["prefix", 40],
    ["public key", 70],
  ])("gives no signature when one copy of the %s is damaged", (_part, at) => {
    const seed = bytesOf(32),
      message = bytesOf(32);
    for (const lane of [0, 1] as const) {
      const keys = keysOf(seed);
      keys[lane][at]! ^= 1 << random.below(8);
      expect(signer.sign(keys, [message, message])).toEqual([undefined, undefined]);
    }
    expect(signer.sign(keysOf(seed), [message])[0]).toBeDefined();
  });

  it("has a table of multiples of B and one of c B", () => {
    const { run, base } = bareKernel();
    for (const scalar of [1n, 8n, 0x80n, 1n << 252n])
      expect(run([scalar, scalar])).toEqual([base(scalar), base(scalar * SECOND_FACTOR)]);
  });

  it("multiplies by every digit in every window, and by numbers at the ends", () => {
    const { run, base } = bareKernel();
    const digits = [1n, 7n, 8n, 9n, 15n];
    const scalars = [
      0n,
      1n,
      2n,
      GROUP_ORDER - 1n,
      GROUP_ORDER - 2n,
      GROUP_ORDER >> 1n,
      ...Array.from({ length: 63 }, (_, window) =>
        digits.map((digit) => (digit << BigInt(4 * window)) % GROUP_ORDER),
      ).flat(),
    ];
    for (const scalar of scalars) {
      const other = bigBelow(random, GROUP_ORDER);
      expect(run([scalar, other])).toEqual([base(scalar), base(other * SECOND_FACTOR)]);
      expect(run([other, scalar])).toEqual([base(other), base(scalar * SECOND_FACTOR)]);
    }
  });

  it("reduces hashes and answers like whole numbers, at their ends too", () => {
    const { bytes, exports } = bareKernel();
    const at = TABLE_BYTES;
    const [nonces, secrets, out] = [
      at + 2 * HASH_BYTES,
      at + 2 * HASH_BYTES + PAIR_BYTES,
      at + 2 * HASH_BYTES + 2 * PAIR_BYTES,
    ];
    const big = 1n << 512n;
    const hashes = [
      0n,
      1n,
      big - 1n,
      GROUP_ORDER,
      GROUP_ORDER - 1n,
      GROUP_ORDER * ((big - 1n) / GROUP_ORDER),
      (1n << 256n) - 1n,
      1n << 256n,
      ...Array.from({ length: 20 }, () => bigBelow(random, big)),
    ];
    for (const [i, hash] of hashes.entries()) {
      const other = hashes[(i * 5 + 1) % hashes.length]!;
      const secret = i % 2 === 0 ? (1n << 255n) - 8n : bigBelow(random, 1n << 255n);
      write(bytes, at, hash, 64);
      write(bytes, at + HASH_BYTES, other, 64);
      exports.nonces!(nonces, at);
      const [r, rOverC] = [read(bytes, nonces), read(bytes, nonces + WORD_BYTES)];
      expect([r, rOverC]).toEqual([
        hash % GROUP_ORDER,
        modulo(other * inverseModulo(SECOND_FACTOR, GROUP_ORDER), GROUP_ORDER),
      ]);
      write(bytes, secrets, secret, 32);
      write(bytes, secrets + WORD_BYTES, secret, 32);
      exports.responses!(out, at, nonces, secrets);
      expect([read(bytes, out), read(bytes, out + WORD_BYTES)]).toEqual([
        modulo(hash * secret + r, GROUP_ORDER),
        modulo(other * secret + other, GROUP_ORDER),
      ]);
    }
  });

  it("shows every fault of a table: never do both lanes go wrong alike", () => {
    const { bytes, run, base } = bareKernel();
    for (let round = 0; round < 60; round += 1) {
      const scalar = bigBelow(random, GROUP_ORDER);
      const pair: [bigint, bigint] = [scalar, modulo(scalar * inverseModulo(SECOND_FACTOR, GROUP_ORDER), GROUP_ORDER)];
      // A high bit of a limb's fraction in each of ten places.
      const faults = Array.from({ length: 10 }, () => 8 * random.below(TABLE_BYTES / 8) + 5);
      for (const fault of faults) bytes[fault]! ^= 0x10;
      const [first, second] = run(pair);
      for (const fault of faults) bytes[fault]! ^= 0x10;
      if (first === second) expect(first).toBe(base(scalar));
      expect(run(pair)).toEqual([base(scalar), base(scalar)]);
    }
  });
});

/** The module on a memory of the test's own: products with B and c B, encoded. */
function bareKernel() {
  const pages = 3;
  const module = buildSigningModule(pages);
  const memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const exports = new WebAssembly.Instance(new WebAssembly.Module(module.bytes), { env: { memory } }).exports as Record<
    string,
    (...args: number[]) => void
  >;
  const bytes = new Uint8Array(memory.buffer);
  new Float64Array(memory.buffer).set(tableLimbs());
  const [scalars, point, blind, out] = [
    TABLE_BYTES,
    TABLE_BYTES + PAIR_BYTES,
    TABLE_BYTES + PAIR_BYTES + POINT_BYTES,
    TABLE_BYTES + 2 * PAIR_BYTES + POINT_BYTES,
  ];
  const run = (pair: readonly [bigint, bigint]): string[] => {
    for (const [lane, scalar] of pair.entries()) {
      write(bytes, scalars + lane * WORD_BYTES, scalar, WORD_BYTES);
      write(bytes, blind + lane * WORD_BYTES, 1n + bigBelow(random, FIELD_PRIME - 1n), WORD_BYTES);
    }
    exports.multiples!(point, scalars, 0);
    exports.encode!(out, blind, point, 1, out + PAIR_BYTES);
    return [0, 1].map((lane) =>
      Buffer.from(bytes.slice(out + lane * WORD_BYTES, out + (lane + 1) * WORD_BYTES)).toString("hex"),
    );
  };
  const base = (scalar: bigint): string => ed25519.Point.BASE.multiplyUnsafe(modulo(scalar, GROUP_ORDER)).toHex();
  return { bytes, exports, run, base };
}

function write(bytes: Uint8Array, address: number, value: bigint, length: number): void {
  for (let i = 0; i < length; i += 1) bytes[address + i] = Number((value >> BigInt(8 * i)) & 0xffn);
}

function read(bytes: Uint8Array, address: number): bigint {
  return Array.from(bytes.slice(address, address + WORD_BYTES)).reduceRight(
    (sum, byte) => (sum << 8n) | BigInt(byte),
    0n,
  );
}
