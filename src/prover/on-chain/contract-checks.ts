/** What a contract on a chain is asked: whether its code is the expected one, and whether it verifies. */
import { keccak256 } from "../../crypto/hashes/keccak.js";
import type { RuntimeCode } from "../../engine/solidity/compile-solidity.js";
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, assert } from "../../platform/errors.js";
import type { ContractPort, NodeAnswer } from "../../chain/contracts/contract-port.js";
import { emptyCall, selector, wrongCalls } from "./verifier-calldata.js";
import type { ExpectedCode, StoredVerifier } from "./verifier-records.js";
import type { KnownAnswer, VerifierFinding } from "./verifier-schemas.js";

/** A contract, and by whose network it is asked. */
export interface ContractPlace {
  readonly owner: Subject;
  readonly networkId: string;
  /** 0x address. */
  readonly address: string;
}

/** How a contract is to be tried. */
export interface Trial {
  readonly scheme: string;
  readonly expected: ExpectedCode;
  /** SHA-256 of the verifying key, hex. */
  readonly keyHash: string;
  /** Null when no valid proof is at hand: then it is only seen that the contract refuses. */
  readonly known: KnownAnswer | null;
  /** Public signals that `verifyProof` takes. */
  readonly signalCount: number;
}

export interface TrialOutcome {
  /** Keccak-256 of the code on the chain, 0x-hex. */
  readonly codeHash: string;
  /** Least gas of a transaction that verifies the known answer; null without one. */
  readonly gas: number | null;
  /** Empty for a contract that is as it must be. */
  readonly findings: readonly VerifierFinding[];
}

interface ContractChecksDependencies {
  /** The chain area, which is built later than the prover registry. */
  readonly chain: () => Pick<ContractPort, "ask">;
}

const CODE = /^0x(?:[0-9a-f]{2})*$/i;
const TRUE = /^0x0{63}1$/;
const FALSE = /^0x0{64}$/;
/** The three schemes take from 200,000 to 400,000, and some 7,000 for each public signal. */
const GAS_FIRST_GUESS = 500_000;
/** What a block of the main networks takes. */
const GAS_MAX = 32_000_000;
const GAS_STEP = 1_000;
const OTHER_CODE: VerifierFinding = {
  code: "verifier_code_mismatch",
  message: "the contract at the address has other code than was deployed",
};

export class ContractChecks {
  readonly #with: ContractChecksDependencies;

  constructor(dependencies: ContractChecksDependencies) {
    this.#with = dependencies;
  }

  /**
   * Compares the code on the chain, and asks the contract to accept the known answer and to refuse wrong ones.
   * @throws AppError `network_answer_invalid` of a node that has no code at the address, because it is behind or of
   *   another chain; what `ContractPort.ask` throws when no node answers
   */
  async tryOut(place: ContractPlace, trial: Trial, signal: AbortSignal): Promise<TrialOutcome> {
    const { scheme, known, signalCount } = trial;
    const wrong =
      known === null
        ? [{ what: "no proof at all", data: emptyCall(scheme, signalCount) }]
        : wrongCalls(known.calldata, { scheme, signalCount: known.public_signals.length });
    const keyCall = `0x${selector("VERIFYING_KEY_SHA256()")}`;
    const [code, key, right, ...refusals] = await this.#ask(
      place,
      [
        { method: "eth_getCode", params: [place.address, "latest"] },
        ...[keyCall, known?.calldata ?? keyCall, ...wrong.map(({ data }) => data)].map((data) => callOf(place, data)),
      ],
      signal,
    );
    const found = codeIn(code);
    const codeHash = keccakHex(found);
    if (!isExpected(found, trial.expected)) return { codeHash, gas: null, findings: [OTHER_CODE] };
    const findings: VerifierFinding[] = [];
    if (!isWord(key, trial.keyHash))
      findings.push({ code: "verifier_key_mismatch", message: "the contract says another key's hash" });
    if (known !== null && verdictOf(right) !== true)
      findings.push({ code: "known_answer_refused", message: "the contract refuses a valid proof" });
    for (const [i, { what }] of wrong.entries())
      if (verdictOf(refusals[i]) !== false)
        findings.push({ code: "wrong_answer_accepted", message: `the contract does not refuse ${what}` });
    const gas = known === null || findings.length > 0 ? null : await this.#gasOf(place, known.calldata, signal);
    return { codeHash, gas, findings };
  }

  /**
   * Asks the contract about one call.
   * @throws AppError `network_answer_invalid` for an answer that is no verdict, and what `ContractPort.ask` throws
   */
  async verdict(place: ContractPlace, calldata: string, signal: AbortSignal): Promise<boolean> {
    const [answer] = await this.#ask(place, [callOf(place, calldata)], signal);
    const verdict = verdictOf(answer);
    if (verdict !== undefined) return verdict;
    const why = answer?.ok === false ? answer.message : "it answered neither true nor false";
    throw new AppError("network_answer_invalid", { message: `the network's node did not ask the contract: ${why}` });
  }

  /**
   * Tells whether the code on the chain is the expected one.
   * @throws AppError as `tryOut`
   */
  async hasCode(place: ContractPlace, expected: ExpectedCode, signal: AbortSignal): Promise<boolean> {
    const [answer] = await this.#ask(place, [{ method: "eth_getCode", params: [place.address, "latest"] }], signal);
    return isExpected(codeIn(answer), expected);
  }

  /** Returns the words of a view method's answer as hex, without 0x; undefined when the call fails. */
  async read(place: ContractPlace, calldata: string, signal: AbortSignal): Promise<string | undefined> {
    const [answer] = await this.#ask(place, [callOf(place, calldata)], signal);
    if (answer?.ok !== true || typeof answer.result !== "string" || !CODE.test(answer.result)) return undefined;
    return answer.result.slice(2).toLowerCase();
  }

  /**
   * A verifier that runs out of gas within a precompile answers false, and does not revert, so that a node's estimate
   * finds too little. The least gas with which it says yes is looked for instead.
   */
  async #gasOf(place: ContractPlace, calldata: string, signal: AbortSignal): Promise<number | null> {
    const suffices = async (gas: number): Promise<boolean> => {
      const [answer] = await this.#ask(place, [callOf(place, calldata, gas)], signal);
      return verdictOf(answer) === true;
    };
    let enough = GAS_FIRST_GUESS;
    let tooLittle = 0;
    while (!(await suffices(enough))) {
      if (enough >= GAS_MAX) return null;
      tooLittle = enough;
      enough = Math.min(2 * enough, GAS_MAX);
    }
    while (enough - tooLittle > GAS_STEP) {
      const middle = GAS_STEP * Math.ceil((tooLittle + enough) / 2 / GAS_STEP);
      if (middle >= enough) break;
      if (await suffices(middle)) enough = middle;
      else tooLittle = middle;
    }
    return enough;
  }

  async #ask(
    { owner, networkId }: ContractPlace,
    calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
    signal: AbortSignal,
  ): Promise<NodeAnswer[]> {
    return await this.#with.chain().ask(owner, networkId, { calls, signal });
  }
}

/** Returns where a deployed verifier is. */
export function placeOf({
  owner,
  network_id: networkId,
  address,
}: Pick<StoredVerifier, "owner" | "network_id" | "address">): ContractPlace {
  assert(address !== null, "a deployed verifier has an address");
  return { owner, networkId, address };
}

/** Returns what the code on the chain must be. */
export function expectedCode({ bytecode, immutables }: RuntimeCode): ExpectedCode {
  const code = Buffer.from(bytecode, "hex");
  return { hash: keccakHex(masked(code, immutables)), length: code.length, immutables: [...immutables] };
}

function isExpected(found: Buffer, { hash, length, immutables }: ExpectedCode): boolean {
  return found.length === length && keccakHex(masked(found, immutables)) === hash;
}

function codeIn(answer: NodeAnswer | undefined): Buffer {
  const code =
    answer?.ok === true && typeof answer.result === "string" && CODE.test(answer.result) ? answer.result : "";
  if (code.length > "0x".length) return Buffer.from(code.slice(2), "hex");
  throw new AppError("network_answer_invalid", {
    message: "the network's node has no contract at the address: it is behind, or of another chain",
  });
}

/** Immutables are written into the code by the deployment; all else is as it was compiled. */
function masked(code: Uint8Array, immutables: ExpectedCode["immutables"]): Uint8Array {
  const copy = Uint8Array.from(code);
  for (const { start, length } of immutables) copy.fill(0, start, start + length);
  return copy;
}

function keccakHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(keccak256(bytes)).toString("hex")}`;
}

function callOf({ address }: ContractPlace, data: string, gas?: number): { method: string; params: unknown[] } {
  const limit = gas === undefined ? {} : { gas: `0x${gas.toString(16)}` };
  return { method: "eth_call", params: [{ to: address, data, ...limit }, "latest"] };
}

/** The contracts answer with a word and never revert; undefined for anything else. */
function verdictOf(answer: NodeAnswer | undefined): boolean | undefined {
  const word = answer?.ok === true && typeof answer.result === "string" ? answer.result : "";
  if (TRUE.test(word)) return true;
  return FALSE.test(word) ? false : undefined;
}

function isWord(answer: NodeAnswer | undefined, hex: string): boolean {
  return answer?.ok === true && typeof answer.result === "string" && answer.result.toLowerCase() === `0x${hex}`;
}
