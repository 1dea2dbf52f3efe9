/** Calls that change nothing: as whom and at which block, and what their answer is when the contract refuses. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { compileSolidity, type CompiledContract } from "../../../src/engine/solidity/compile-solidity.js";
import { ANVIL_ACCOUNTS } from "../../support/anvil.js";
import { PROBE } from "./sources.js";
import { startContractsServer, type ContractsServer, type Json } from "./support.js";

let server: ContractsServer;
let probe: { readonly id: string; readonly address: string; readonly compiled: CompiledContract };

beforeAll(async () => {
  server = await startContractsServer();
  const settings = { evmVersion: "cancun", optimizerRuns: 200, viaIr: false } as const;
  const compiled = compileSolidity({ sources: { "probe.sol": PROBE }, contract: "Probe", settings });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const { abi, bytecode } = compiled;
  const made = await create({
    address: "0x",
    params: { compiled_artifact: { abi, bytecode: `0x${bytecode}` }, argv: ["41"], account_id: server.account.id },
  });
  const deployed = await server.until(made.body.id, ({ status }) => status === "deployed");
  probe = { compiled, id: made.body.id, address: deployed.address };
});
afterAll(async () => {
  await server.close();
});

async function create(body: object, token?: string): Promise<{ status: number; body: Json; location: string | null }> {
  const {
    status,
    body: answer,
    headers,
  } = await server.call("POST", "/contracts", { network_id: server.networkId, ...body }, token);
  return { status, body: answer, location: headers.get("location") };
}

async function read(id: string, method: string, params: readonly unknown[] = [], more: object = {}): Promise<unknown> {
  const { status, body } = await server.call("POST", `/contracts/${id}/execute`, { method, params, ...more });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.response;
}

async function refused(id: string, body: object): Promise<unknown> {
  const answer = await server.call("POST", `/contracts/${id}/execute`, body);
  return { status: answer.status, ...answer.body.errors[0] };
}

it("says why a call would revert in a form for programs: name, arguments and data", async () => {
  const refusal = async (body: object): Promise<unknown> =>
    ((await refused(probe.id, body)) as { readonly revert?: unknown }).revert;
  const data = expect.stringMatching(/^0x(?:[0-9a-f]{2}){4,}$/) as string;
  expect(await refusal({ method: "set(uint256)", params: [101], account_id: server.account.id })).toEqual({
    name: "TooMuch",
    args: { asked: "101", by: server.account.address },
    data,
  });
  expect(await refusal({ method: "refuse" })).toMatchObject({ name: "Error", args: { message: "never" }, data });
  expect(await refusal({ method: "divide", params: [1, 0] })).toEqual({ name: "Panic", args: { code: "18" }, data });
  expect(await refusal({ method: "missing" })).toBeUndefined();
  const unknown = await create({
    address: probe.address,
    params: { abi: [{ type: "function", name: "set", inputs: [{ name: "v", type: "uint256" }], outputs: [] }] },
  });
  const call = { method: "set", params: [101], account_id: server.account.id };
  expect(await refused(unknown.body.id, call)).toMatchObject({ revert: { name: null, args: null, data } });
});

it("calls a view method at a block and as a sender that the caller names, and signs nothing", async () => {
  const write = async (value: number): Promise<{ readonly block: number; readonly block_hash: string }> =>
    (await server.write(probe.id, {
      method: "set(uint256)",
      params: [value],
      account_id: server.account.id,
    })) as unknown as { block: number; block_hash: string };
  const first = await write(51);
  await write(52);
  for (const block of [first.block, first.block_hash]) expect(await read(probe.id, "stored", [], { block })).toBe("51");
  for (const more of [{}, { block: "latest" }]) expect(await read(probe.id, "stored", [], more)).toBe("52");
  const from = ANVIL_ACCOUNTS[2];
  expect(await read(probe.id, "whoAmI", [], { from })).toBe(from);
  for (const body of [
    { method: "set(uint256)", params: [1], account_id: server.account.id, from },
    { method: "set(uint256)", params: [1], account_id: server.account.id, block: "latest" },
  ])
    expect(await refused(probe.id, body)).toMatchObject({ status: 422, code: "option_unsupported" });
  expect(await refused(probe.id, { method: "whoAmI", from, account: from })).toMatchObject({
    status: 422,
    path: "from",
  });
  for (const block of [-1, "newest", "0x12", 1.5])
    expect(await refused(probe.id, { method: "stored", block })).toMatchObject({ status: 422, path: "block" });
  for (const block of [10_000_000, `0x${"ab".repeat(32)}`])
    expect(await refused(probe.id, { method: "stored", block })).toMatchObject({ status: 422, path: "block" });
});
