/** Runs a prover's Solidity verifier in an EVM inside of this process, as a call of a node would run it. */
import { createEVM, type EVM } from "@ethereumjs/evm";
import { BN254 } from "../curves/bn254.js";
import type { SolidityArguments } from "../protocol.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { bn254Precompiles } from "./evm-precompiles.js";

/** A compiled verifier contract, which has no constructor. */
export interface VerifierCode {
  /** Creation code, hex without 0x. */
  readonly bytecode: string;
  /** First four bytes of the hash of `verifyProof`'s signature, hex without 0x. */
  readonly selector: string;
}

/** No block has as much; a contract with thousands of public signals takes some tens of millions. */
const GAS = 1_000_000_000_000n;
/** One answer of the type bool. */
const TRUE = `${"00".repeat(31)}01`;

/** This thread's EVM. */
let evm: Promise<EVM> | undefined;

/**
 * Returns whether the contract says that the proof is valid. What it refuses by a revert or a failing precompile is not
 * valid. 0.5 s for the first call on a thread, then 20 to 50 ms.
 * @throws Error when the creation code does not run
 */
export async function verifyInEvm(code: VerifierCode, args: SolidityArguments): Promise<boolean> {
  evm ??= openEvm();
  const opened = await evm;
  const created = await opened.runCode({ code: bytesOf(code.bytecode), gasLimit: GAS });
  if (created.exceptionError !== undefined || created.returnValue.length === 0)
    throw new Error("the verifier contract's creation code does not run");
  const call = await opened.runCode({
    code: created.returnValue,
    data: bytesOf(code.selector + wordsOf(Object.values(args)).join("")),
    gasLimit: GAS,
    isStatic: true,
  });
  return call.exceptionError === undefined && Buffer.from(call.returnValue).toString("hex") === TRUE;
}

async function openEvm(): Promise<EVM> {
  return await createEVM({ customPrecompiles: bn254Precompiles(await loadReferenceKernels(BN254)) });
}

/** All arguments are arrays of fixed length, which are encoded one word after the other. */
function wordsOf(args: unknown): string[] {
  return Array.isArray(args) ? args.flatMap(wordsOf) : [String(args).slice(2)];
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}
