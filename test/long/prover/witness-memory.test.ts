/** A witness program that needs more memory than it may have. */
import { expect, it } from "vitest";
import { compileCircuit, DEFAULT_COMPILE_LIMITS } from "../../../src/engine/circuit/compile-circuit.js";

it("refuses to compile a witness program over its memory", async () => {
  const source =
    "pragma circom 2.1.0; template T() { signal input a; signal s[30000]; s[0] <== a * a; for (var i = 1; i < 30000; i++) { s[i] <== s[i-1] * a; } } component main = T();";
  const result = await compileCircuit(
    { sources: { "main.circom": source }, main: "main.circom", curve: "BN254" },
    { ...DEFAULT_COMPILE_LIMITS, witnessPagesMax: 16 },
  );
  expect(result).toMatchObject({ ok: false, code: "circuit_too_large" });
});
