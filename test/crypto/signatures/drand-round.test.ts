/**
 * Rounds of drand, as its chains published them. SOURCE: quicknet 1000, https://api.drand.sh/HASH/public/1000; quicknet
 * 657413 and default 3311596, README of python-drand-verify
 * (https://github.com/mcdcam/python-drand-verify); testnet 19369534, tests of drand-client
 * (https://github.com/drand/drand-client).
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { drandChainName, findDrandFault, type DrandRound } from "../../../src/crypto/signatures/drand-round.js";

const QUICKNET = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const QUICKNET_1000: DrandRound = {
  ...{ chain: QUICKNET, round: 1000, previousSignature: null },
  randomness: "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd",
  signature: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
};
const QUICKNET_657413: DrandRound = {
  ...{ chain: QUICKNET, round: 657_413, previousSignature: null },
  randomness: "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
  signature: "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b",
};
const DEFAULT_3311596: DrandRound = {
  ...{ chain: "8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce", round: 3_311_596 },
  randomness: "647c07b2abbf7ff2afb4d670214f565e5cd9f9c91bfdcecb59a21f3c78d73920",
  signature:
    "a696b9409ababce45749c3a4ec369074453dd4a79967734e1390d969c8ad8d98897d217b9121e92c8ddebbddda8d92f900e3bd6bf9deb166863b1a19390d743f82774001487594c5c09e581db7365f02b70a2c8cc41ce32446ef08e4890c4754",
  previousSignature:
    "8ed588f2a7716fb1349e2d9803da5db0005e98a83783c353d4a08f183236a9ad91d70ddb01266f4b7c576983db464b430e65680b9e0098552758afd6c1e6afcb77e3f62fe1b93d42d1cb63abbb2205512fe12fbf74ea9c5ac3b8f5c1e283a1d8",
};
const TESTNET_19369534: DrandRound = {
  ...{ chain: "7672797f548f3f4748ac4bf3352fc6c6b6468c9ad40ad456a397545c6e2df5bf", round: 19_369_534 },
  randomness: "778180564f4fb9b77580af69a559ce941eb23d8d3180c48c4d290484b516c6aa",
  signature:
    "a33833d2098f5e0c4df334fb6c5b1c2de3ab293c77825f55d816254dabf7f4f3d429b6207e1cd2a808876e06058a1f8102bb6f6927b654b391259ea99c3566a4eb55feb9665dbaf9d33af08a10b1d8d8b35d91fd3536eb4c197be0041beb5dc2",
  previousSignature: null,
};
const PUBLISHED = [
  ["quicknet 1000", QUICKNET_1000],
  ["quicknet 657413", QUICKNET_657413],
  ["default 3311596", DEFAULT_3311596],
  ["testnet 19369534", TESTNET_19369534],
] as const;

describe("rounds of drand", () => {
  it.each(PUBLISHED)("hold as published: %s", (_, round) => {
    expect(findDrandFault(round)).toBeUndefined();
  });

  it.each(PUBLISHED)("are refused for another round: %s", (_, round) => {
    expect(findDrandFault({ ...round, round: round.round + 1 })).toMatch(/^the signature is not that of drand's/);
  });

  it("are refused with another round's signature, though its randomness follows from it", () => {
    const { randomness, signature } = QUICKNET_657413;
    expect(findDrandFault({ ...QUICKNET_1000, randomness, signature })).toBe(
      "the signature is not that of drand's quicknet for round 1000",
    );
  });

  it("are refused with a value that is not the signature's", () => {
    expect(findDrandFault({ ...QUICKNET_1000, randomness: "00".repeat(32) })).toBe(
      "the value is not the SHA-256 of the signature",
    );
  });

  it.each([
    ["no point", "ff".repeat(48)],
    ["infinity", `c0${"00".repeat(47)}`],
    ["a point of the wrong group", DEFAULT_3311596.signature],
    ["nothing", ""],
  ])("are refused with %s in place of the signature", (_, signature) => {
    const randomness = createHash("sha256").update(Buffer.from(signature, "hex")).digest("hex");
    expect(findDrandFault({ ...QUICKNET_1000, signature, randomness })).toMatch(
      /^the signature is not that of drand's/,
    );
  });

  it("take the signature before them exactly where their chain is chained", () => {
    expect(findDrandFault({ ...DEFAULT_3311596, previousSignature: null })).toContain("previous_signature");
    const wrong = `00${DEFAULT_3311596.previousSignature?.slice(2) ?? ""}`;
    expect(findDrandFault({ ...DEFAULT_3311596, previousSignature: wrong })).toMatch(/^the signature is not/);
    expect(findDrandFault({ ...QUICKNET_1000, previousSignature: "00" })).toContain("have no previous_signature");
  });

  it("of unknown chains are not judged", () => {
    expect(drandChainName(QUICKNET)).toBe("quicknet");
    expect(drandChainName("00".repeat(32))).toBeUndefined();
    expect(() => findDrandFault({ ...QUICKNET_1000, chain: "00".repeat(32) })).toThrow(RangeError);
  });
});
