/** The text of verifier contracts: their names, the hash in them, and calls that they must refuse. */
import { describe, expect, it } from "vitest";
import { toFunctionSelector } from "viem";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { emptyCall, verifierCalldata, wrongCalls } from "../../../src/prover/on-chain/verifier-calldata.js";
import {
  callerContract,
  contractName,
  namedVerifier,
  signalCountIn,
  takesEmptyList,
} from "../../../src/prover/on-chain/verifier-source.js";

const ID = "0a1b2c3d-1111-4222-8333-000000000001";
const HASH = "ab".repeat(32);
const SOURCE = `pragma solidity >=0.7.0 <0.9.0;

contract Groth16Verifier {
    uint256 constant r = 1;

    function verifyProof(uint[2] calldata _pA, uint[2][2] calldata _pB, uint[2] calldata _pC, uint[3] calldata _pubSignals) public view returns (bool) {
    }
}
`;
const word = (value: number | bigint): string => `0x${value.toString(16).padStart(64, "0")}`;

describe("the name of a contract", () => {
  it.each([
    ["my first prover", "MyFirstProverVerifier"],
    ["Zürich: Größe", "ZurichGroEVerifier"],
    ["3 of 5", "Prover3Of5Verifier"],
    ["TicketVerifier", "TicketVerifier"],
    ["} contract Evil {", "ContractEvilVerifier"],
    ["証明", "Prover0a1b2c3dVerifier"],
    ["x".repeat(200), `X${"x".repeat(59)}Verifier`],
  ])("of %j is %s", (name, expected) => {
    expect(contractName(name, ID)).toBe(expected);
  });
});

describe("a named verifier", () => {
  const named = namedVerifier(SOURCE, { name: "TicketVerifier", keyHash: HASH });

  it("has the name, and the key's hash as a constant", () => {
    expect(named).toContain("contract TicketVerifier {");
    expect(named).not.toContain("Groth16Verifier");
    expect(named).toContain(`bytes32 public constant VERIFYING_KEY_SHA256 = 0x${HASH};`);
    expect(signalCountIn(named)).toBe(3);
  });

  it("stays as it is when it is named again, and refuses another key's hash", () => {
    expect(namedVerifier(named, { name: "OtherVerifier", keyHash: HASH })).toBe(named);
    expect(() => namedVerifier(named, { name: "OtherVerifier", keyHash: "cd".repeat(32) })).toThrow(/another form/);
  });

  it.each([
    ["two contracts", `${SOURCE}${SOURCE}`],
    ["none", "pragma solidity >=0.7.0;"],
    ["no verifyProof", "contract A {\n}\n"],
  ])("is not made of %s", (_what, source) => {
    expect(() => namedVerifier(source, { name: "TicketVerifier", keyHash: HASH })).toThrow(/another form/);
  });

  it.each([
    ["groth16", "uint[2] calldata _pA, uint[2][2] calldata _pB, uint[2] calldata _pC"],
    ["plonk", "uint256[24] calldata _proof"],
    ["fflonk", "bytes32[24] calldata proof"],
  ])("of %s may have no public signals, and then its caller gives none", (_scheme, parameters) => {
    const mute = namedVerifier(SOURCE.replace(/\(uint\[2\].*_pubSignals\)/, `(${parameters})`), {
      ...{ name: "MuteVerifier", keyHash: HASH },
    });
    expect(signalCountIn(mute)).toBe(0);
    expect(takesEmptyList(mute)).toBe(false);
    expect(callerContract(mute)).not.toContain("signals)");
    expect(takesEmptyList(mute.replace(") public view", ", uint256[0] calldata _pubSignals) public view"))).toBe(true);
  });

  it("is what the example of a caller names", () => {
    const caller = callerContract(named);
    expect(caller).toContain("ITicketVerifier public immutable verifier;");
    expect(caller).toContain(`!= 0x${HASH}`);
    expect(caller).toContain("uint256[2][2] calldata proof1, uint256[2] calldata proof2, uint256[3] calldata signals");
  });
});

describe("calls of a verifier", () => {
  const groth16 = {
    a: [1, 2].map(word),
    b: [[3, 4].map(word), [5, 6].map(word)],
    c: [7, 8].map(word),
    input: [9].map(word),
  };

  it("have the selector of the scheme's signature, and its words", () => {
    const call = verifierCalldata("groth16", groth16);
    expect(call.slice(0, 10)).toBe(toFunctionSelector("verifyProof(uint256[2],uint256[2][2],uint256[2],uint256[1])"));
    expect(call.slice(10)).toBe([1, 2, 3, 4, 5, 6, 7, 8, 9].map((each) => word(each).slice(2)).join(""));
    const words = { proof: Array.from({ length: 24 }, (_, i) => word(i)), input: [word(1)] };
    expect(verifierCalldata("plonk", words).slice(0, 10)).toBe(
      toFunctionSelector("verifyProof(uint256[24],uint256[1])"),
    );
    expect(verifierCalldata("fflonk", words).slice(0, 10)).toBe(
      toFunctionSelector("verifyProof(bytes32[24],uint256[1])"),
    );
    expect(emptyCall("fflonk", 1)).toHaveLength(10 + 25 * 64);
    expect(emptyCall("groth16", 2)).toHaveLength(10 + 10 * 64);
  });

  it("are spoiled in a point, in a signal, and in its residue's name", () => {
    const call = verifierCalldata("groth16", groth16);
    const wrong = wrongCalls(call, { scheme: "groth16", signalCount: 1 }).map(({ data }) => data.slice(10));
    const joined = (values: readonly (number | bigint)[]): string => values.map((each) => word(each).slice(2)).join("");
    expect(wrong).toEqual([
      joined([7, 8, 3, 4, 5, 6, 1, 2, 9]),
      joined([1, 2, 3, 4, 5, 6, 7, 8, 10]),
      joined([1, 2, 3, 4, 5, 6, 7, 8, 9n + BN254.r]),
    ]);
    expect(wrongCalls(call, { scheme: "groth16", signalCount: 0 })).toHaveLength(2);
  });

  it("take the proof alone where there are no public signals", () => {
    const call = verifierCalldata("groth16", { ...groth16, input: [] });
    expect(call.slice(0, 10)).toBe(toFunctionSelector("verifyProof(uint256[2],uint256[2][2],uint256[2])"));
    expect(call).toHaveLength(10 + 8 * 64);
    const words = { proof: Array.from({ length: 24 }, (_, i) => word(i)), input: [] };
    expect(verifierCalldata("plonk", words).slice(0, 10)).toBe(toFunctionSelector("verifyProof(uint256[24])"));
    expect(verifierCalldata("fflonk", words).slice(0, 10)).toBe(toFunctionSelector("verifyProof(bytes32[24])"));
  });

  it("take the last number of the field for 0 when they count on", () => {
    const call = verifierCalldata("groth16", { ...groth16, input: [word(BN254.r - 1n)] });
    const [, next] = wrongCalls(call, { scheme: "groth16", signalCount: 1 });
    expect(next?.data.slice(-64)).toBe("0".repeat(64));
  });
});
