/**
 * Decides whether the fused multiply-add kernels may be used here: V8 must accept relaxed SIMD, and its multiply-add
 * must round once. WebAssembly leaves the second open (Relaxed SIMD proposal: `f64x2.relaxed_madd` may round twice),
 * and with two roundings every product would be wrong; so it is measured, not assumed.
 */
import { setFlagsFromString } from "node:v8";
import { f64x2, i32, v128 } from "./wasm-ops.js";
import { ModuleBuilder } from "./wasm-builder.js";
import { wasmHost } from "./wasm-host.js";

/** Pages of 64 KiB that a kernel module's memory may have: all that 32-bit addresses reach. */
export const MEMORY_PAGES_MAX = 65_536;

/**
 * Values whose exact product needs 106 bits: the low half survives only a single rounding. One pair per lane and sign.
 */
const SAMPLES: readonly (readonly [number, number])[] = [
  [2 ** 51 - 1, 2 ** 51 - 1],
  [2 ** 50 + 1, -(2 ** 50 + 3)],
  [-(2 ** 51 - 3), 2 ** 49 + 5],
];

/**
 * Tells whether multiply-add is there and rounds once. On Node 20 this turns on V8's flag for relaxed SIMD, which works
 * on any thread before the first kernel is compiled; later versions of Node have it on. Costs about a millisecond.
 */
export function hasFusedMultiplyAdd(): boolean {
  const bytes = probeModule();
  if (!wasmHost.validate(bytes)) {
    // The flag holds for the process and only adds instructions; a V8 without it ignores the unknown name.
    setFlagsFromString("--experimental-wasm-relaxed-simd");
    if (!wasmHost.validate(bytes)) return false;
  }
  const memory = new wasmHost.Memory({ initial: 1, maximum: 1, shared: true });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
  const words = new Float64Array(memory.buffer, 0, 8);
  for (const [x, y] of SAMPLES) {
    for (const name of ["madd", "nmadd"] as const) {
      const sign = name === "madd" ? 1n : -1n;
      const exact = sign * BigInt(x) * BigInt(y);
      const high = Number(exact); // one rounding
      words.set([x, y, y, x, -high, -high, 0, 0]);
      (instance.exports[name] as () => void)();
      if ([6, 7].some((at) => words[at] !== Number(exact - BigInt(high)))) return false;
    }
  }
  return true;
}

/** madd and nmadd on words 0..1, 2..3 and 4..5, result in words 6..7. */
function probeModule(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  const at = (word: number) => v128.load(i32.const(0), 8 * word);
  module.define({ name: "madd", params: [] }, (f) =>
    f.run(v128.store(i32.const(0), f64x2.relaxedMadd(at(0), at(2), at(4)), 48)),
  );
  module.define({ name: "nmadd", params: [] }, (f) =>
    f.run(v128.store(i32.const(0), f64x2.relaxedNmadd(at(0), at(2), at(4)), 48)),
  );
  return module.toBytes(1);
}
