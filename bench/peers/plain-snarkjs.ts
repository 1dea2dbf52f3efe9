/**
 * snarkjs as its users call it, in a process of its own with its default multi-threaded curve: nothing of ours prepares
 * it.
 *
 *   node plain-snarkjs.js verify KEY_PROOF_SIGNALS_JSON SAMPLES
 *   node plain-snarkjs.js setup R1CS PTAU ZKEY
 *
 * Prints the samples in milliseconds as JSON. Start of Node and load of snarkjs are not in them.
 */
import { readFileSync } from "node:fs";
import * as snarkjs from "snarkjs";

interface VerifyCase {
  readonly verifyingKey: unknown;
  readonly proof: unknown;
  readonly publicSignals: readonly string[];
}

async function verify(path: string, samples: number): Promise<number[]> {
  const { verifyingKey, proof, publicSignals } = JSON.parse(readFileSync(path, "utf8")) as VerifyCase;
  const once = async (): Promise<number> => {
    const startedAt = performance.now();
    if (!(await snarkjs.groth16.verify(verifyingKey, publicSignals, proof)))
      throw new Error("the proof does not verify");
    return performance.now() - startedAt;
  };
  // The first calls build the curve and warm the compiler.
  for (let i = 0; i < 5; i += 1) await once();
  const times: number[] = [];
  for (let i = 0; i < samples; i += 1) times.push(await once());
  return times;
}

async function setup(r1cs: string, ptau: string, zkey: string): Promise<number[]> {
  // snarkjs' own declarations here take bytes only; a path is what its command line passes.
  const byPath = snarkjs.zKey as unknown as {
    readonly newZKey: (r1cs: string, ptau: string, zkey: string) => Promise<unknown>;
  };
  const startedAt = performance.now();
  const hash = await byPath.newZKey(r1cs, ptau, zkey);
  if (hash === -1) throw new Error("snarkjs refused the powers of tau");
  return [performance.now() - startedAt];
}

const [, , command, ...parameters] = process.argv;
const [first = "", second = "", third = ""] = parameters;
const times = command === "verify" ? await verify(first, Number(second)) : await setup(first, second, third);
process.stdout.write(JSON.stringify(times));
process.exit(0);
