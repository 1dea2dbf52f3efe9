/**
 * The rehearsal of a key's first proof, on a thread of its own that is thrown away. V8 compiles a function for all
 * threads of a process when one calls it first, and the system gives memory its pages when they are first written; the
 * first proof would wait for both. What is computed here is given to nobody.
 */
import { useOutsideMemory } from "./circuit/program-memory.js";
import { rehearseProgram } from "./circuit/rehearse-program.js";
import type { CircuitInterface } from "./circuit/interface.js";
import type { ProofSystemName } from "./proof-systems/names.js";
import type { KernelProver } from "./proof-systems/proof-system.js";
import { proofSystem } from "./proof-systems/table.js";
import { REHEARSAL_PHASE, rehearsesKernels, type RehearsalRequest } from "./rehearsal-request.js";

/**
 * Proves with a witness of zeros, then runs the witness program, which may never end. Never throws.
 * @param onProgram called before the program is run: the thread may be ended from then on
 */
export function rehearse(request: RehearsalRequest, onProgram: () => void): void {
  const { kernels, program, cancelled } = REHEARSAL_PHASE;
  const phase = new Int32Array(request.state);
  if (Atomics.load(phase, 0) === cancelled) return;
  if (rehearsesKernels(request)) rehearseKernels(request);
  if (Atomics.compareExchange(phase, 0, kernels, program) === cancelled) return;
  onProgram();
  const { program: module, memory, circuit } = request;
  if (memory !== undefined) useOutsideMemory(module, memory);
  if (circuit.isUnnamed !== true) rehearseProgram(module, circuit);
}

/** As long as that, proofs are repeated: V8 optimises what is hot, beside the threads that prove. */
const KERNELS_MS = 250;

function rehearseKernels({ system, openKey, circuit }: RehearsalRequest): void {
  const startedMs = performance.now();
  try {
    const prover = proofSystem(system).openProver(openKey.key);
    do proveZeros(system, prover, circuit);
    while (performance.now() - startedMs < KERNELS_MS);
  } catch {
    // The kernels cannot run here; the first proof tells.
  }
}

/** Makes a proof with a witness of zeros, which most often proves nothing and is not looked at. */
export function proveZeros(
  system: ProofSystemName,
  prover: KernelProver,
  { wireCount }: Pick<CircuitInterface, "wireCount">,
): void {
  const witness = new Uint8Array(wireCount * proofSystem(system).curve.frBytes);
  witness[0] = 1;
  try {
    prover.prove(witness);
  } catch {
    // No free workspace, or a scheme that finds the witness to satisfy nothing.
  }
}
