import { mnemonicToEntropy } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canonicalPhrase,
  entropyPhrase,
  phraseEntropy,
  validationHash,
} from "../../../src/crypto/wallets/seal-phrase.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");
const canonicalText = (text: string): string | undefined => {
  const canonical = canonicalPhrase(utf8(text));
  return canonical === undefined ? undefined : Buffer.from(canonical).toString();
};

// SOURCE: BIP-39 reference vectors (trezor/python-mnemonic, vectors.json), the 256-bit ones.
const VECTORS: readonly (readonly [string, string])[] = [
  ["00".repeat(32), `${"abandon ".repeat(23)}art`],
  [
    "7f".repeat(32),
    "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth title",
  ],
  [
    "80".repeat(32),
    "letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic bless",
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
];

describe("the seal phrase (BIP-39, 24 words, on bytes)", () => {
  it.each(VECTORS)("turns entropy %s into its words and back", (entropy, phrase) => {
    expect(Buffer.from(entropyPhrase(Buffer.from(entropy, "hex"))).toString()).toBe(phrase);
    expect(hex(phraseEntropy(utf8(phrase)))).toBe(entropy);
  });

  it("hashes the phrase's bytes, not the entropy", () => {
    expect(hex(validationHash(utf8(VECTORS[0]![1])))).toBe(
      "69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac",
    );
    expect(hex(validationHash(utf8(VECTORS[1]![1])))).toBe(
      "3b1c5e02107409ea60548d8d8f686fd8d722791f3618deb1f9eb1e9f5c02cd35",
    );
  });

  it("agrees with an independent implementation for any entropy", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (entropy) => {
        const phrase = entropyPhrase(entropy);
        expect(hex(mnemonicToEntropy(Buffer.from(phrase).toString(), wordlist))).toBe(hex(entropy));
        expect(hex(phraseEntropy(phrase))).toBe(hex(entropy));
      }),
    );
  });

  it("canonicalises case, white space and compatibility forms", () => {
    expect(canonicalText("  Abandon\tABOUT\r\n art \n")).toBe("abandon about art");
    expect(canonicalText("abandon\u00a0about\u3000art")).toBe("abandon about art");
    expect(canonicalText("\uff41bandon about \uff21RT")).toBe("abandon about art");
    expect(canonicalText("\u{1d41a}bandon \ufb01t")).toBe("abandon fit");
  });

  it("refuses what cannot be words", () => {
    for (const text of [
      "",
      "   ",
      "abandon-about",
      "abandon1",
      "ab\u0301andon",
      "ünder",
      "abandon\0",
      "\ud83d\ude00",
      "a".repeat(1001),
    ])
      expect(canonicalText(text)).toBeUndefined();
    expect(canonicalPhrase(Uint8Array.of(0x61, 0xff, 0xfe))).toBeUndefined();
    expect(canonicalPhrase(Uint8Array.of(0x61, 0xe2, 0x80))).toBeUndefined();
  });

  it("refuses 12, 23 and 25 words, unknown words and a wrong checksum", () => {
    const phrase = VECTORS[4]![1];
    expect(phraseEntropy(utf8(phrase))).toBeDefined();
    expect(
      phraseEntropy(utf8("legal winner thank year wave sausage worth useful legal winner thank yellow")),
    ).toBeUndefined();
    expect(phraseEntropy(utf8(phrase.split(" ").slice(1).join(" ")))).toBeUndefined();
    expect(phraseEntropy(utf8(`${phrase} length`))).toBeUndefined();
    expect(phraseEntropy(utf8(phrase.replace("diagram", "diagrams")))).toBeUndefined();
    expect(phraseEntropy(utf8(phrase.replace("diagram", "private")))).toBeUndefined();
    expect(phraseEntropy(new Uint8Array())).toBeUndefined();
  });
});
