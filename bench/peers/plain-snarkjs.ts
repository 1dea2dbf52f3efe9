/**
 * snarkjs as its users call it, in a process of its own with its default multi-threaded curve: nothing of ours prepares
 * it.
 *
 *   node plain-snarkjs.js verify KEY_PROOF_SIGNALS_JSON SAMPLES
 *   node plain-snarkjs.js setup R1CS PTAU ZKEY
 *   node plain-snarkjs.js universal-setup plonk|fflonk R1CS PTAU ZKEY
 *   node plain-snarkjs.js universal-prove plonk|fflonk ZKEY WTNS SAMPLES
 *   node plain-snarkjs.js ptau-verify PTAU
 *   node plain-snarkjs.js contribute ZKEY NEW_ZKEY
 *   node plain-snarkjs.js zkey-verify R1CS PTAU ZKEY
 *   node plain-snarkjs.js zkey-verify-init INITIAL_ZKEY PTAU ZKEY
 *
 * Prints the samples in milliseconds as JSON, on the last line. Start of Node and load of snarkjs are not in them.
 */
import { readFileSync } from "node:fs";
import * as snarkjs from "snarkjs";

interface VerifyCase {
  readonly verifyingKey: unknown;
  readonly proof: unknown;
  readonly publicSignals: readonly string[];
}

/** snarkjs' own declarations here take bytes only; paths are what its command line passes. */
interface SnarkjsByPath {
  readonly zKey: {
    newZKey(r1cs: string, ptau: string, zkey: string): Promise<unknown>;
    contribute(from: string, to: string, name: string, entropy: string): Promise<unknown>;
    verifyFromR1cs(r1cs: string, ptau: string, zkey: string): Promise<boolean>;
    verifyFromInit(initial: string, ptau: string, zkey: string): Promise<boolean>;
  };
  readonly powersOfTau: { verify(ptau: string): Promise<boolean> };
  readonly plonk: UniversalByPath;
  readonly fflonk: UniversalByPath;
}

interface UniversalByPath {
  setup(r1cs: string, ptau: string, zkey: string): Promise<unknown>;
  prove(zkey: string, wtns: string): Promise<unknown>;
}

const byPath = snarkjs as unknown as SnarkjsByPath;

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
  const startedAt = performance.now();
  const hash = await byPath.zKey.newZKey(r1cs, ptau, zkey);
  if (hash === -1) throw new Error("snarkjs refused the powers of tau");
  return [performance.now() - startedAt];
}

function universal(scheme: string): UniversalByPath {
  if (scheme !== "plonk" && scheme !== "fflonk") throw new Error("plain-snarkjs: no such scheme");
  return byPath[scheme];
}

async function universalSetup(scheme: string, r1cs: string, ptau: string, zkey: string): Promise<number[]> {
  const startedAt = performance.now();
  if ((await universal(scheme).setup(r1cs, ptau, zkey)) === -1) throw new Error("snarkjs refused the powers of tau");
  return [performance.now() - startedAt];
}

async function universalProve(scheme: string, zkey: string, wtns: string, samples: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < samples; i += 1) {
    const startedAt = performance.now();
    await universal(scheme).prove(zkey, wtns);
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function ptauVerify(ptau: string): Promise<number[]> {
  const startedAt = performance.now();
  if (!(await byPath.powersOfTau.verify(ptau))) throw new Error("snarkjs refused the powers of tau");
  return [performance.now() - startedAt];
}

async function contribute(from: string, to: string): Promise<number[]> {
  const startedAt = performance.now();
  await byPath.zKey.contribute(from, to, "bench", "some text");
  return [performance.now() - startedAt];
}

async function zkeyVerify(r1cs: string, ptau: string, zkey: string): Promise<number[]> {
  const startedAt = performance.now();
  if (!(await byPath.zKey.verifyFromR1cs(r1cs, ptau, zkey))) throw new Error("snarkjs refused the key");
  return [performance.now() - startedAt];
}

async function zkeyVerifyInit(initial: string, ptau: string, zkey: string): Promise<number[]> {
  const startedAt = performance.now();
  if (!(await byPath.zKey.verifyFromInit(initial, ptau, zkey))) throw new Error("snarkjs refused the key");
  return [performance.now() - startedAt];
}

type Command = (first: string, second: string, third: string, fourth: string) => Promise<number[]>;

const commands: Readonly<Record<string, Command>> = {
  verify: async (path, samples) => await verify(path, Number(samples)),
  setup,
  "universal-setup": universalSetup,
  "universal-prove": async (scheme, zkey, wtns, samples) => await universalProve(scheme, zkey, wtns, Number(samples)),
  "ptau-verify": ptauVerify,
  contribute,
  "zkey-verify": zkeyVerify,
  "zkey-verify-init": zkeyVerifyInit,
};

const [, , command, ...parameters] = process.argv;
const [first = "", second = "", third = "", fourth = ""] = parameters;
const run = commands[command ?? ""];
if (run === undefined) throw new Error("plain-snarkjs: no such command");
const times = await run(first, second, third, fourth);
// On a line of its own: snarkjs writes to standard output too.
process.stdout.write(`\n${JSON.stringify(times)}\n`);
process.exit(0);
