/**
 * What people write first: node:http that calls snarkjs in its own process, key file read for each proof.
 *
 *   node plain-server.js INPUTS_JSON WASM ZKEY
 *
 * GET / answers a small JSON text; POST /prove answers a proof of the inputs.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as snarkjs from "snarkjs";

/** snarkjs' own declarations here take bytes only; paths are what its users pass. */
const { fullProve } = snarkjs.groth16 as unknown as {
  readonly fullProve: (inputs: unknown, wasm: string, zkey: string) => Promise<unknown>;
};

const [, , inputsPath = "", wasm = "", zkey = ""] = process.argv;
const inputs: unknown = JSON.parse(readFileSync(inputsPath, "utf8"));

const server = createServer((request, response) => {
  const answer = (body: unknown): void => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  };
  if (request.method === "POST") fullProve(inputs, wasm, zkey).then(answer, () => response.writeHead(500).end());
  else answer({ status: "ok" });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`Plain server on http://127.0.0.1:${String((server.address() as AddressInfo).port)}\n`);
});
