import { describe, expect, it } from "vitest";
import { ModuleBuilder } from "../../../../src/engine/kernels/wasm/wasm-builder.js";
import type { FunctionBuilder } from "../../../../src/engine/kernels/wasm/wasm-builder.js";
import { i32 } from "../../../../src/engine/kernels/wasm/wasm-ops.js";
import type { Local } from "../../../../src/engine/kernels/wasm/wasm-ops.js";
import { wasmHost } from "../../../../src/engine/kernels/wasm/wasm-host.js";

/** x, x^3, x^9 and so on, as many powers as there are steps, and their sum. */
function powers(f: FunctionBuilder, x: Local<"i32">, steps: number): Local<"i32"> {
  let [power, sum] = [x, x];
  for (let step = 1; step < steps; step += 1) {
    power = f.let(i32.mul(power, i32.mul(power, power)));
    sum = f.let(i32.add(sum, power));
  }
  return sum;
}

function expectedSum(x: number, steps: number): number {
  let [power, sum] = [x, x];
  for (let step = 1; step < steps; step += 1) {
    power = Math.imul(power, Math.imul(power, power));
    sum = (sum + power) | 0;
  }
  return sum;
}

function bytesOf(build: (f: FunctionBuilder, a: Local<"i32">, b: Local<"i32">) => readonly Local<"i32">[]): Uint8Array {
  const module = new ModuleBuilder();
  module.define({ name: "run", params: ["i32", "i32"], results: ["i32", "i32", "i32"] }, (f, a, b) => {
    f.return(...build(f, a, b));
  });
  return module.toBytes(1);
}

describe("woven statements", () => {
  it.each([
    [5, 5, 5],
    [9, 2, 4],
    [1, 7, 3],
  ])("compute what parts of %i, %i and %i steps compute one after the other", (...steps) => {
    const bytes = bytesOf((f, a, b) => f.weave(steps.map((count, i) => () => powers(f, i === 1 ? b : a, count))));
    const memory = new wasmHost.Memory({ initial: 1, maximum: 1, shared: true });
    const module = new WebAssembly.Module(bytes);
    const { run } = new WebAssembly.Instance(module, { env: { memory } }).exports as {
      run: (a: number, b: number) => readonly number[];
    };
    expect(run(3, 7)).toEqual(steps.map((count, i) => expectedSum(i === 1 ? 7 : 3, count)));
  });

  it("takes a statement of each part in turn", () => {
    const orders = [true, false].map((isWoven) =>
      bytesOf((f, a, b) => {
        const parts = [a, b, a].map((x) => () => powers(f, x, 4));
        return isWoven ? f.weave(parts) : parts.map((part) => part());
      }),
    );
    const [woven, plain] = orders as [Uint8Array, Uint8Array];
    expect(woven).toHaveLength(plain.length);
    expect(woven).not.toEqual(plain);
    expect([...woven].sort()).toEqual([...plain].sort());
  });

  it("refuses a part that stores, branches, calls, returns or weaves", () => {
    const module = new ModuleBuilder();
    const callee = module.define({ name: "callee", params: [] }, () => undefined);
    module.define({ name: "run", params: ["i32"] }, (f, a) => {
      const parts: (() => void)[] = [
        () => f.run(i32.store(a, a)),
        () => f.if(a, () => undefined),
        () => f.call(callee, []),
        () => f.return(),
        () => void f.weave([]),
      ];
      for (const part of parts) expect(() => f.weave([part])).toThrow("only assignments are woven");
    });
  });
});
