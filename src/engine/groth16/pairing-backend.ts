/**
 * Chooses what computes pairings on this thread: the WebAssembly kernels, after a self-test with known results, or the
 * reference backend.
 */
import { BN254 } from "../curves/bn254.js";
import type { CurveName, CurveParameters } from "../curves/curve-parameters.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { negateG1 } from "../curves/points.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { loadKernelPairing } from "../kernels/pairing/pairing.js";
import type { PairingBackend } from "../protocol.js";

/** This thread's kernels by curve, once loaded; module state because a thread compiles them only once. */
const kernelPairings = new Map<CurveName, PairingKernels>();
/** Curves whose self-test failed: this thread never tries their kernels again. */
const broken = new Set<CurveName>();

/**
 * Returns the pairing backend of a curve, BN254 by default, loaded once per thread in about 0.3 s. Kernels that fail
 * their self-test are never used.
 */
export async function loadPairing(backend: PairingBackend, curve: CurveParameters = BN254): Promise<PairingKernels> {
  const pairing = backend === "reference" ? undefined : testedKernelPairing(curve);
  return pairing ?? (await loadReferenceKernels(curve));
}

/** Returns a curve's kernels, loaded and tested once per thread; undefined when they fail their self-test. */
export function testedKernelPairing(curve: CurveParameters): PairingKernels | undefined {
  const loaded = kernelPairings.get(curve.name);
  if (loaded !== undefined || broken.has(curve.name)) return loaded;
  try {
    const pairing = tested(loadKernelPairing(undefined, curve));
    kernelPairings.set(curve.name, pairing);
    return pairing;
  } catch {
    broken.add(curve.name);
    return undefined;
  }
}

/** Returns whether these are the kernels, so that the reference backend can repeat a failed computation. */
export function isKernelPairing(pairing: PairingKernels): boolean {
  return kernelPairings.get(pairing.curve.name) === pairing;
}

/**
 * Tests the kernels with equations that a wrong field operation would break: e(a P, Q) e(b P, Q) = e((a + b) P, Q),
 * with lines computed and prepared, and e(P, Q) e(-P, Q) = one, which e(P, Q) is not.
 * @throws Error when one of them does not hold
 */
function tested(kernels: PairingKernels): PairingKernels {
  const { generatorG1, generatorG2: q, r } = kernels.curve;
  const p = (scalar: bigint) => {
    const point = kernels.combineG1([{ point: generatorG1, scalar }]);
    if (point === undefined) throw new Error("pairing self-test: a multiple is infinity");
    return point;
  };
  const [a, b] = [r / 3n, r / 5n + 2n];
  const prepared = kernels.prepareG2(q);
  const product = kernels.pairingProduct([
    { g1: p(a), g2: q },
    { g1: p(b), g2: prepared },
  ]);
  const one = kernels.pairingProduct([
    { g1: p(a), g2: q },
    { g1: negateG1(p(a), kernels.curve), g2: prepared },
  ]);
  const holds =
    kernels.equalPairingValues(product, kernels.pairingProduct([{ g1: p((a + b) % r), g2: q }])) &&
    kernels.equalPairingValues(
      one,
      kernels.pairingProduct([
        { g1: p(b), g2: q },
        { g1: p(r - b), g2: q },
      ]),
    ) &&
    !kernels.equalPairingValues(product, one);
  if (!holds) throw new Error("pairing self-test: the kernels compute wrong values");
  return kernels;
}
