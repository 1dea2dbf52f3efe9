/** A circuit whose compilation never ends, on a server whose limit is three seconds of processor time. */
import { expect, it } from "vitest";
import { startServer } from "../../support/server.js";

it("stops a circuit that loops for ever at the time limit, and says so", async () => {
  const server = await startServer({ flags: ["--compile-seconds=3"] });
  try {
    const { api } = await server.newUser();
    const source =
      "pragma circom 2.1.0; template A() { signal input a; signal output b; var x = 0; while (1 == 1) { x += 1; } b <== a; } component main = A();";
    const { body } = await api.createProver({
      body: { proving_scheme: "groth16", curve: "BN254", provider: "circom", name: "loop", source },
      preferWaitSec: 30,
    });
    expect(body.status).toBe("failed");
    expect(body.errors[0]?.message).toMatch(/time|second/i);
  } finally {
    await server.dispose();
  }
});
