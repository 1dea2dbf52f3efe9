/** A signature of the vault, proved in zero knowledge by the prover registry of the same server. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { provisioned, startServer, type TestServer } from "../../support/server.js";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.dispose();
});

it("proves eddsa_signature over a signature that the vault made, and no other message", async () => {
  const { api } = await server.newUser();
  const id = (await api.createVault({ body: { name: "signers" } })).body.id;
  const key_id = (await api.createKey({ params: { id }, body: { spec: "babyJubJub", name: "signer" } })).body.id;
  const signed = (await api.signMessage({ params: { id, key_id }, body: { message: "04d2" } })).body;
  if (!("inputs" in signed)) throw new Error("the answer lacks the circuit's inputs");
  const prover = await provisioned(api, {
    identifier: "eddsa_signature",
    proving_scheme: "groth16",
    curve: "BN254",
    provider: "circom",
    name: "signature",
  });
  const { proof } = (await api.prove({ params: { id: prover }, body: { witness: signed.inputs } })).body;
  // The same without the signature in anybody's hands: all inputs are the vault's.
  const whole = { $sign: key_id, vault_id: id, message: "0x04d2" };
  const named = (await api.prove({ params: { id: prover }, body: { witness: whole } })).body;
  expect(named.public_signals).toEqual([...signed.inputs.PublicKey, signed.inputs.Message]);
  const { PublicKey, Message } = signed.inputs;
  expect((await api.verify({ params: { id: prover }, body: { witness: { PublicKey, Message }, proof } })).body).toEqual(
    { result: true },
  );
  expect(
    (await api.verify({ params: { id: prover }, body: { witness: { PublicKey, Message: "1235" }, proof } })).body,
  ).toEqual({ result: false });
});
