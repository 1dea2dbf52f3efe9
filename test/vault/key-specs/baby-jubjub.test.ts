// babyJubJub keys over HTTP: their messages, and a signature inside the circuit that the prover registry ships.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findUnsatisfied } from "../../../src/engine/circuit/satisfaction.js";
import { checkInputs } from "../../../src/engine/circuit/inputs.js";
import { readCircuitInterface, type CircuitInterface } from "../../../src/engine/circuit/interface.js";
import { readR1cs, type R1cs } from "../../../src/engine/circuit/r1cs.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";
import { readBuiltIn } from "../../support/compiled-circuits.js";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
let r1cs: R1cs;
let circuit: CircuitInterface;
let program: WebAssembly.Module;
beforeAll(async () => {
  server = await startVaultServer();
  const compiled = await readBuiltIn("eddsa_signature");
  r1cs = readR1cs(compiled.r1cs);
  circuit = readCircuitInterface(r1cs, compiled.sym);
  program = new WebAssembly.Module(compiled.wasm);
});
afterAll(async () => {
  await server.close();
});

const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

function accepts(inputs: Record<string, unknown>): boolean {
  const checked = checkInputs(circuit, inputs);
  if (!checked.ok) throw new Error(JSON.stringify(checked.details));
  const result = computeWitness(program, circuit, checked.values);
  return result.ok && findUnsatisfied(r1cs, result.witness) === undefined;
}

describe("a babyJubJub signature of the vault", () => {
  it("satisfies eddsa_signature with the inputs that it is answered with, and no others", async () => {
    const { path } = await server.newKey("babyJubJub");
    for (const message of ["04d2", "00", "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000"]) {
      const signed = await server.call("POST", `${path}/sign`, { message });
      const inputs = signed.body["inputs"] as Record<string, unknown>;
      expect(accepts(inputs), message).toBe(true);
      expect(accepts({ ...inputs, Message: "1235" }), message).toBe(false);
    }
    const { path: other } = await server.newKey("babyJubJub");
    const [one, two] = await Promise.all(
      [path, other].map(
        async (at) =>
          (await server.call("POST", `${at}/sign`, { message: "07" })).body["inputs"] as Record<string, unknown>,
      ),
    );
    expect(accepts({ ...one, PublicKey: two!["PublicKey"] })).toBe(false);
    expect(accepts({ ...one, S: String(BigInt(one!["S"] as string) + 1n) })).toBe(false);
  });
});

describe("babyJubJub messages", () => {
  it("are field elements: below the order, at most 32 bytes, never reduced", async () => {
    const { path: at } = await server.newKey("babyJubJub");
    const order = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
    const hex = (value: bigint): string => value.toString(16).padStart(64, "0");
    expect((await server.call("POST", `${at}/sign`, { message: hex(order - 1n) })).status).toBe(201);
    expect((await server.call("POST", `${at}/sign`, { message: "00" })).status).toBe(201);
    for (const message of [hex(order), hex(order + 1n), "ff".repeat(32), `00${hex(1n)}`])
      expect(code(await server.call("POST", `${at}/sign`, { message }))).toBe("message_out_of_field");
    expect(code(await server.call("POST", `${at}/sign`, { message: "01", options: { digest: "sha256" } }))).toBe(
      "option_unsupported",
    );
  });
});
