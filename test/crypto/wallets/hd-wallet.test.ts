// Hierarchical deterministic wallets: published vectors, the second library as an oracle, and the bounds of paths.
import { randomBytes } from "node:crypto";
import { HDKey } from "@scure/bip32";
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeedSync } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { describe, expect, it } from "vitest";
import { addressOfPublicKey } from "../../../src/crypto/ethereum/address.js";
import {
  childNumbers,
  DEFAULT_PATH,
  formatHdPath,
  HARDENED,
  HD_INDEX_MAX,
  isHdPath,
  parseHdPath,
} from "../../../src/crypto/wallets/hd-path.js";
import { accountXpub, seedOfEntropy, withHdKey } from "../../../src/crypto/wallets/hd-wallet.js";
import { secp256k1PublicKey } from "../../../src/crypto/secp256k1/secp256k1.js";
import { bip32PrivateKey } from "../../support/bip32-oracle.js";

const addressAt = (seed: Uint8Array, path: string): string =>
  withHdKey(seed, parseHdPath(path)!, (key) => addressOfPublicKey(secp256k1PublicKey(key)));

describe("BIP-39", () => {
  // SOURCE: trezor/python-mnemonic vectors.json, the 256-bit entropies (phrases; seeds there have a passphrase).
  it.each([
    ["00".repeat(32), `${"abandon ".repeat(23)}art`],
    [
      "7f".repeat(32),
      `${"legal winner thank year wave sausage worth useful ".repeat(2)}legal winner thank year wave sausage worth title`,
    ],
    [
      "80".repeat(32),
      `${"letter advice cage absurd amount doctor acoustic avoid ".repeat(2)}letter advice cage absurd amount doctor acoustic bless`,
    ],
    ["ff".repeat(32), `${"zoo ".repeat(23)}vote`],
    [
      "68a79eaca2324873eacc50cb9c6eca8cc68ea5d936f98787c60c7ebc74e6ce7c",
      "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length",
    ],
    [
      "9f6a2878b2520799a44ef18bc7df394e7061a224d2c33cd015b157d746869863",
      "panda eyebrow bullet gorilla call smoke muffin taste mesh discover soft ostrich alcohol speed nation flash devote level hobby quick inner drive ghost inside",
    ],
    [
      "066dca1a2bb7e8a1db2832148ce9933eea0f3ac9548d793112d9a95c9407efad",
      "all hour make first leader extend hole alien behind guard gospel lava path output census museum junior mass reopen famous sing advance salt reform",
    ],
    [
      "f585c11aec520db57dd353c69554b21a89b20fb0650966fa0a9d6f74fd989d8f",
      "void come effort suffer camp survey warrior heavy shoot primary clutch crush open amazing screen patrol group space point ten exist slush involve unfold",
    ],
  ])("stretches the entropy %s as its phrase says", (entropy, phrase) => {
    const bytes = Uint8Array.from(Buffer.from(entropy, "hex"));
    expect(entropyToMnemonic(bytes, wordlist)).toBe(phrase);
    expect(Buffer.from(seedOfEntropy(bytes)).toString("hex")).toBe(
      Buffer.from(mnemonicToSeedSync(phrase)).toString("hex"),
    );
    expect(Buffer.from(mnemonicToEntropy(phrase, wordlist)).toString("hex")).toBe(entropy);
  });
});

describe("BIP-32", () => {
  // SOURCE: BIP-32 test vectors 1, 2 and 3.
  it.each([
    [
      "000102030405060708090a0b0c0d0e0f",
      "m/0'/1/2'/2/1000000000",
      "xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy",
    ],
    [
      "fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542",
      "m/0/2147483647'/1/2147483646'/2",
      "xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt",
    ],
    [
      "4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be",
      "m/0'",
      "xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y",
    ],
  ])("derives the published keys of the seed %s", (seed, path, xpub) => {
    expect(HDKey.fromMasterSeed(Buffer.from(seed, "hex")).derive(path).publicExtendedKey).toBe(xpub);
    const numbers = path
      .split("/")
      .slice(1)
      .map((level) => Number.parseInt(level, 10) + (level.endsWith("'") ? HARDENED : 0));
    const publicKey = secp256k1PublicKeyCompressed(bip32PrivateKey(Buffer.from(seed, "hex"), numbers));
    expect(Buffer.from(publicKey)).toEqual(Buffer.from(HDKey.fromExtendedKey(xpub).publicKey!));
  });

  it("derives what the oracle derives, hardened or not, at both ends of the indexes", () => {
    const seed = randomBytes(64);
    for (const [at, index] of [0, 1, HARDENED - 1, HARDENED, HD_INDEX_MAX].entries()) {
      const path = { purpose: 44, coin: 60, account: HARDENED - 1 - at, change: at, index };
      const derived = withHdKey(seed, path, (key) => Buffer.from(key));
      expect(derived, `seed ${seed.toString("hex")}, ${formatHdPath(path)}`).toEqual(
        bip32PrivateKey(seed, childNumbers(path)),
      );
    }
  });

  // SOURCE: the addresses that Hardhat and Foundry print for their test phrase.
  it("gives the addresses that everybody knows", () => {
    const seed = mnemonicToSeedSync("test test test test test test test test test test test junk");
    expect(addressAt(seed, "m/44'/60'/0'/0/0")).toBe("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    expect(addressAt(seed, "m/44'/60'/0'/0/1")).toBe("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
    expect(addressAt(seed, "m/44'/60'/0'/0/9")).toBe("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720");
  });

  it("gives an account's xpub, from which its plain addresses can be derived", () => {
    const seed = seedOfEntropy(new Uint8Array(randomBytes(32)));
    const account = HDKey.fromExtendedKey(accountXpub(seed, { purpose: 44, coin: 60, account: 3 }));
    const child = account.derive("m/0/7");
    expect(
      withHdKey(
        seed,
        { ...DEFAULT_PATH, account: 3, index: 7 },
        (key) =>
          HDKey.fromExtendedKey(child.publicExtendedKey).publicKey!.toString() ===
          secp256k1PublicKeyCompressed(key).toString(),
      ),
    ).toBe(true);
  });

  it("overwrites the private key after its use", () => {
    let lent: Uint8Array = new Uint8Array();
    withHdKey(seedOfEntropy(new Uint8Array(32)), DEFAULT_PATH, (key) => {
      lent = key;
      expect(key.some((byte) => byte !== 0)).toBe(true);
    });
    expect(lent.every((byte) => byte === 0)).toBe(true);
  });
});

describe("paths", () => {
  it.each([
    ["m/44'/60'/0'/0/0", 0],
    ["m/44'/60'/2'/1/5", 5],
    ["m/44'/60'/0'/0/2147483647", 2 ** 31 - 1],
    ["m/44'/60'/0'/0/0'", 2 ** 31],
    ["m/44'/60'/0'/0/2147483646'", HD_INDEX_MAX],
  ])("read and write %s", (path, index) => {
    expect(parseHdPath(path)!.index).toBe(index);
    expect(formatHdPath(parseHdPath(path)!)).toBe(path);
  });

  it.each([
    "",
    "m",
    "m/44'/60'/0'/0",
    "m/44/60'/0'/0/0",
    "m/44'/60'/0'/0/0/0",
    "m/44'/60'/0'/0/-1",
    "m/44'/60'/0'/0'/0",
    "M/44'/60'/0'/0/0",
    "m/44h/60h/0h/0/0",
    "m/44'/60'/0'/0/4294967295",
    "m/44'/60'/0'/0/2147483647'",
    "m/44'/60'/0'/0/2147483648'",
    "m/44'/60'/2147483648'/0/0",
    "m/44'/60'/0'/2147483648/0",
    " m/44'/60'/0'/0/0",
    "m/44'/60'/0'/0/0x1",
    "m/44'/60'/0'/0/1e3",
    "m/44'/60'/0'/0/99999999999",
    "m/44'/60'/0'/0/2147483648",
    "m/44'/60'/0'/0/4294967294",
    "m/44'/60'/0'/0/01",
    "m/44'/60'/0'/00/1",
    "m/044'/60'/0'/0/0",
    "m/44'/60'/0'/0/00",
    "m/44'/60'/0'/0/0h",
    "m/44'/60'/0'/0/0H",
    "m/44’/60’/0’/0/0",
    "m/44''/60'/0'/0/0",
    "m//44'/60'/0'/0/0",
    "m/44'/60'/0'/0/0/",
    "m/44'/60'/0'/0//0",
    "m/44'/60'/0'/0/ 0",
    "m/44'/60'/0'/0/+0",
    "m/44'/60'/0'/0/0\n",
    "/44'/60'/0'/0/0",
    "44'/60'/0'/0/0",
  ])("refuse %j", (path) => {
    expect(parseHdPath(path)).toBeUndefined();
  });

  it("have whole levels in range", () => {
    for (const bad of [
      { index: HD_INDEX_MAX + 1 },
      { index: -1 },
      { index: 0.5 },
      { account: 2 ** 31 },
      { change: -1 },
      { purpose: NaN },
    ])
      expect(isHdPath({ ...DEFAULT_PATH, ...bad })).toBe(false);
  });
});

function secp256k1PublicKeyCompressed(key: Uint8Array): Uint8Array {
  const point = secp256k1PublicKey(key);
  return Uint8Array.from([point[64]! & 1 ? 3 : 2, ...point.subarray(1, 33)]);
}
