/** What proof systems share in reading keys and examples that this server has stored. */
import { checkInputs } from "../circuit/inputs.js";
import { computeWitness } from "../circuit/witness.js";
import type { Decoded } from "../encoding/decoded.js";
import type { HonestExample } from "./proof-system.js";

/**
 * Returns a verifying key that was read from an artifact. Its hash was checked when it was loaded, so one that does not
 * decode is a bug.
 * @throws Error when it does not decode
 */
export function publishedKey<Key>(decoded: Decoded<Key>): Key {
  if (!decoded.ok) throw new Error(`verifying key: ${decoded.message}`);
  return decoded.value;
}

/** Computes the witness of a built-in circuit's satisfying inputs, or says what is wrong with the example. */
export async function honestWitness(example: HonestExample): Promise<Decoded<Uint8Array>> {
  const inputs = checkInputs(example.circuit, example.inputs);
  if (!inputs.ok) return { ok: false, message: "the circuit's own example has other inputs than the circuit" };
  const program = await WebAssembly.compile(example.witnessProgram.slice());
  const computed = computeWitness(program, example.circuit, inputs.values);
  if (!computed.ok) return { ok: false, message: "the circuit's own example does not satisfy it" };
  return { ok: true, value: computed.witness };
}
