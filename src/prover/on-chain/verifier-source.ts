/**
 * The text of a prover's contracts: its verifier under a name of its own and with the hash of its key, and an example
 * of a contract that calls it.
 */
import { BN254 } from "../../engine/curves/bn254.js";

/** What a verifier's text says of itself. */
interface VerifierText {
  readonly name: string;
  /** Types of those parameters of `verifyProof` that take the proof. */
  readonly proofTypes: readonly string[];
  /** Public signals that it takes. */
  readonly signalCount: number;
  readonly keyHash: string;
}

const NAME_CHARACTERS_MAX = 60;
const SUFFIX = "Verifier";
const CONTRACT_HEAD = /^contract (\w+) \{$/gm;
const KEY_HASH = /bytes32 public constant VERIFYING_KEY_SHA256 = 0x([0-9a-f]{64});/;
const ENTRY = /function verifyProof\(([^)]*)\) public view returns \(bool\)/;
/** Parameters that take a proof of Groth16; those of the other schemes are one list of words. */
const GROTH16_POINTS = 3;
const SHA256_HEX = /^[0-9a-f]{64}$/;

/**
 * Returns a name for the contract of a prover: letters and digits of the prover's name, as Solidity takes them.
 * @example contractName("my first prover", id) // MyFirstProverVerifier
 */
export function contractName(proverName: string, proverId: string): string {
  const words =
    proverName
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const base = joined.replace(new RegExp(`${SUFFIX}$`), "").slice(0, NAME_CHARACTERS_MAX);
  if (base === "") return `Prover${proverId.slice(0, 8)}${SUFFIX}`;
  return `${/^[0-9]/.test(base) ? "Prover" : ""}${base}${SUFFIX}`;
}

/**
 * Returns the verifier under the name, with the hash of its key as a constant that anyone can ask for. A text that has
 * them already is returned as it is.
 * @param source one contract, as the proof system writes it
 * @param keyHash SHA-256 of verifying_key.json, lower-case hex
 * @throws Error when the text is not of that form, or has another key's hash
 */
export function namedVerifier(source: string, { name, keyHash }: Pick<VerifierText, "name" | "keyHash">): string {
  const known = KEY_HASH.exec(source)?.[1];
  if (known === keyHash) return source;
  const heads = [...source.matchAll(CONTRACT_HEAD)];
  if (known !== undefined || heads.length !== 1 || !ENTRY.test(source) || !SHA256_HEX.test(keyHash))
    throw new Error("the verifier contract has another form than is known");
  return source.replace(
    CONTRACT_HEAD,
    `contract ${name} {
    /// SHA-256 of the verifying_key.json whose proofs this contract verifies.
    bytes32 public constant VERIFYING_KEY_SHA256 = 0x${keyHash};
`,
  );
}

/** Tells whether the contract takes a list of no elements, as earlier versions wrote; Solidity has none. */
export function takesEmptyList(source: string): boolean {
  return /\[0\]/.test(ENTRY.exec(source)?.[1] ?? "");
}

/** Returns how many public signals `verifyProof` takes in what `namedVerifier` returned. */
export function signalCountIn(source: string): number {
  return readVerifier(source).signalCount;
}

/**
 * Returns an example of a contract that calls the verifier: it takes each statement once, and tells of it in an event.
 * Of a circuit without public signals there is one statement, so that the contract takes one proof.
 * @param source what `namedVerifier` returned
 */
export function callerContract(source: string): string {
  const { name, proofTypes, signalCount, keyHash } = readVerifier(source);
  const values = proofTypes.map((type, i) => ({ type, name: `proof${String(i)}` }));
  const { declared: signals, ...parts } = signalParts(signalCount);
  const parameters = [...values.map(({ type, name: value }) => `${type} calldata ${value}`), ...signals].join(", ");
  const given = [...values.map(({ name: value }) => value), ...signals.map(() => "signals")].join(", ");
  return `// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.20;

interface I${name} {
    function verifyProof(${parameters}) external view returns (bool);
    function VERIFYING_KEY_SHA256() external view returns (bytes32);
}

${parts.purpose}
contract ${name}Caller {
${parts.order}    I${name} public immutable verifier;
    mapping(bytes32 statement => bool) public isAccepted;

    event Accepted(address indexed caller, bytes32 indexed statement${parts.logged});

    error WrongVerifier(address verifier);
${parts.error}    error AlreadyAccepted(bytes32 statement);
    error ProofRefused(bytes32 statement);

    constructor(I${name} verifier_) {
        if (
            address(verifier_).code.length == 0
                || verifier_.VERIFYING_KEY_SHA256() != 0x${keyHash}
        ) revert WrongVerifier(address(verifier_));
        verifier = verifier_;
    }

    /// Takes a statement with its proof. Give the call ample gas: a verifier that runs out of it says that the proof is
    /// wrong.
    function accept(${parameters}) external {
${parts.checks}
        if (isAccepted[statement]) revert AlreadyAccepted(statement);
        if (!verifier.verifyProof(${given})) revert ProofRefused(statement);
        isAccepted[statement] = true;
        emit Accepted(msg.sender, statement${signals.map(() => ", signals").join("")});
    }
}
`;
}

/** What of the example depends on whether there are public signals. */
function signalParts(signalCount: number) {
  if (signalCount === 0)
    return {
      declared: [],
      purpose: `/// An example of a contract that acts on proofs. They say the same each time, since the circuit has no public signals,
/// and whoever sees one can send it too: so it takes one proof, from whoever comes first.`,
      ...{ order: "", logged: "", error: "" },
      checks: `        // Check here who may send a proof: it says nothing of msg.sender.
        bytes32 statement = verifier.VERIFYING_KEY_SHA256();`,
    };
  const signals = `uint256[${String(signalCount)}]`;
  return {
    declared: [`${signals} calldata signals`],
    purpose: `/// An example of a contract that acts on proofs. It takes each statement, that is each list of public signals, once.
/// What the signals mean, and which of them your contract should take, is yours to check where the comment says so.`,
    order: `    /// The order of the field; a signal of this and more would be another name for a smaller one.
    uint256 private constant FIELD_ORDER = ${String(BN254.r)};

`,
    logged: `, ${signals} signals`,
    error: "    error SignalOutOfRange(uint256 index);\n",
    checks: `        for (uint256 i = 0; i < signals.length; i++) {
            if (signals[i] >= FIELD_ORDER) revert SignalOutOfRange(i);
        }
        // Check here what the signals say, such as a root that you know, or msg.sender against one of them.
        bytes32 statement = keccak256(abi.encode(signals));`,
  };
}

function readVerifier(source: string): VerifierText {
  const name = [...source.matchAll(CONTRACT_HEAD)][0]?.[1];
  const keyHash = KEY_HASH.exec(source)?.[1];
  const parameters = (ENTRY.exec(source)?.[1] ?? "")
    .split(",")
    .map((parameter) => ({ type: (/^\s*(\S+) calldata/.exec(parameter)?.[1] ?? "").replace(/\buint\b/, "uint256") }));
  // Of the three schemes: the list of public signals follows the three points of a proof, or its one list of words. A
  // contract of a circuit without public signals has none.
  const proofCount = parameters[0]?.type === "uint256[2]" ? GROTH16_POINTS : 1;
  const signals = parameters.length === proofCount ? "uint256[0]" : (parameters[proofCount]?.type ?? "");
  const signalCount = /^uint256\[(\d+)\]$/.exec(signals)?.[1];
  if (name === undefined || keyHash === undefined || signalCount === undefined)
    throw new Error("the verifier contract has another form than is known");
  return {
    name,
    keyHash,
    proofTypes: parameters.slice(0, proofCount).map(({ type }) => type),
    signalCount: Number(signalCount),
  };
}
