/** Contracts over HTTP against a real node: made from source and artifacts, called, listed; read again by viem. */
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { createHash } from "node:crypto";
import { createPublicClient, http, parseAbi, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileSolidity, type CompiledContract } from "../../../src/engine/solidity/compile-solidity.js";
import { ANVIL_ACCOUNTS } from "../../support/anvil.js";
import { COLLECTIBLE, PROBE, TOKEN } from "./sources.js";
import { startContractsServer, withImports, type ContractsServer, type Json } from "./support.js";

const SETTINGS = { evmVersion: "cancun", optimizerRuns: 200, viaIr: false } as const;
const NOBODY = "0x00000000000000000000000000000000000000AA";
const UNKNOWN_ID = "7d5e7f0c-2a4b-4d0e-9a55-0a4d3f6f7a11";
const sha256 = (text: string | Buffer): string => createHash("sha256").update(text).digest("hex");

let server: ContractsServer;
let probe: { compiled: CompiledContract; id: string; address: string };

function compile(sources: Record<string, string>, contract: string): CompiledContract {
  const result = compileSolidity({ sources, contract, settings: SETTINGS });
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result;
}

function artifactOf({ name, abi, bytecode, linkReferences }: CompiledContract): object {
  return {
    contractName: name,
    abi,
    bytecode: `0x${bytecode}`,
    linkReferences,
    source: PROBE,
    sourceName: "what build tools add is not kept",
  };
}

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

beforeAll(async () => {
  server = await startContractsServer();
  const compiled = compile({ "probe.sol": PROBE }, "Probe");
  const made = await create({
    address: "0x",
    params: { compiled_artifact: artifactOf(compiled), argv: ["41"], account_id: server.account.id, value: 5 },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const deployed = await server.until(made.body.id, ({ status }) => status === "deployed");
  probe = { compiled, id: made.body.id, address: deployed.address };
});
afterAll(async () => {
  await server.close();
});

describe("deploying from an artifact", () => {
  it("has the address 0x until it is mined, then the address, and a prefix that changes with it", async () => {
    const made = await create({
      params: { compiled_artifact: artifactOf(probe.compiled), argv: [1], account_address: server.account.address },
    });
    expect(made).toMatchObject({
      status: 201,
      location: `/api/v1/contracts/${made.body.id}`,
      body: { address: "0x", status: "deploying", name: "Probe", user_id: server.owner.id, application_id: null },
    });
    expect(made.body.pubsub_prefix).toBe(sha256(`${server.owner.id}.0x`));
    expect(made.body.params).toMatchObject({ argv: [1], compiled_artifact: { contractName: "Probe" } });
    const deployed = await server.until(made.body.id, ({ status }) => status === "deployed");
    expect(deployed.address).toMatch(/^0x[0-9a-fA-F]{40}$/);
    expect(deployed.pubsub_prefix).toBe(sha256(`${server.owner.id}.${deployed.address}`));
    expect(deployed.transaction_id).toBe(made.body.transaction_id);
  });

  it("answers everything that is stored in a detail, by id and by address, and leaves it out of lists", async () => {
    const byId = await server.call("GET", `/contracts/${probe.id}`);
    const byAddress = await server.call("GET", `/contracts/${probe.address.toLowerCase()}`);
    expect(byAddress.body).toEqual({ ...byId.body, accessed_at: byAddress.body.accessed_at });
    const { params } = byId.body;
    expect(Object.keys(params ?? {}).sort()).toEqual([
      "abi",
      "bytecode",
      "deps",
      "fingerprint",
      "name",
      "opcodes",
      "source",
    ]);
    expect(params).toMatchObject({
      name: "Probe",
      source: PROBE,
      bytecode: `0x${probe.compiled.bytecode}`,
      fingerprint: sha256(Buffer.from(probe.compiled.bytecode, "hex")),
    });
    const listed = await server.call("GET", "/contracts");
    expect((listed.body as unknown as object[]).every((contract) => !("params" in contract))).toBe(true);
  });

  it("refuses a constructor that would revert, with its reason, and stores nothing", async () => {
    const before = await server.call("GET", "/contracts?filter_tokens=false");
    const answer = await create({
      params: { compiled_artifact: artifactOf(probe.compiled), argv: [5000], account_id: server.account.id },
    });
    expect(answer.body.errors).toMatchObject([
      { code: "execution_reverted", message: expect.stringContaining("first is too large") as string },
    ]);
    const after = await server.call("GET", "/contracts?filter_tokens=false");
    expect(after.headers.get("x-total-results-count")).toBe(before.headers.get("x-total-results-count"));
  });

  it("is not deployed without a signer, and deployed by an execution with an empty method", async () => {
    const made = await create({ name: "later", params: { compiled_artifact: artifactOf(probe.compiled) } });
    const id = made.body.id;
    expect(made).toMatchObject({ status: 201, body: { status: "compiled", address: "0x" } });
    expect(await refused(id, { method: "stored" })).toMatchObject({ status: 409, code: "contract_not_deployed" });
    const sent = await server.write(id, { method: "", params: [3], account: server.account.address });
    expect(sent.error).toBeNull();
    const deployed = await server.until(id, ({ status }) => status === "deployed");
    expect(await read(deployed.address, "stored")).toBe("3");
    expect(await refused(id, { params: [3], account: server.account.address })).toMatchObject({
      status: 409,
      code: "contract_deployed",
    });
  });

  it("stores the reason when the deployment fails on its chain", async () => {
    // Enough for the transaction's own price (EIP-7623), too little for the 200 gas that each byte of stored code
    // costs.
    const gas = 100_000 + 20 * probe.compiled.bytecode.length;
    const made = await create({
      params: { compiled_artifact: artifactOf(probe.compiled), argv: [1], account_id: server.account.id, gas },
    });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const failed = await server.until(made.body.id, ({ status }) => status === "failed");
    expect(failed).toMatchObject({ address: "0x", errors: [{ code: "deployment_failed" }] });
  });

  it("links libraries by name, and names those that are missing", async () => {
    const source = `${PROBE}\ncontract User { function f(uint256 x) external pure returns (uint256) { return Sums.twice(x); } }`;
    const params = { compiled_artifact: artifactOf(compile({ "lib.sol": source }, "User")) };
    expect((await create({ params })).body.errors).toMatchObject([
      { code: "libraries_unlinked", message: expect.stringContaining("lib.sol:Sums") as string },
    ]);
    const linked = await create({ params: { ...params, libraries: { Sums: ANVIL_ACCOUNTS[1] } } });
    expect(linked.status).toBe(201);
    const detail = await server.call("GET", `/contracts/${linked.body.id}`);
    expect(detail.body.params?.bytecode).toContain(ANVIL_ACCOUNTS[1].slice(2).toLowerCase());
  });
});

describe("deploying from source", () => {
  it("compiles OpenZeppelin's ERC-20 with its imports, deploys it, and detects the token", async () => {
    const made = await create({
      params: {
        raw_source: withImports("Coin.sol", TOKEN),
        contract_name: "Coin",
        argv: ["Example", "EXM", "1000000000000000000000"],
        account_id: server.account.id,
      },
    });
    expect(made).toMatchObject({ status: 202, body: { status: "compiling", address: "0x" } });
    const id = made.body.id;
    const deployed = await server.until(id, ({ status }) => !["compiling", "deploying"].includes(status));
    expect(deployed).toMatchObject({
      status: "deployed",
      type: "erc20",
      errors: [],
      params: {
        name: "Coin",
        compiler: expect.stringContaining("solc 0.8.37") as string,
        settings: { evm_version: "cancun" },
      },
    });
    expect(await read(id, "balanceOf", [server.account.address])).toBe("1000000000000000000000");
    const sent = await server.write(id, {
      method: "transfer",
      params: [ANVIL_ACCOUNTS[2], "5"],
      account_id: server.account.id,
    });
    expect(sent).toMatchObject({ status: "success", error: null });

    const client = createPublicClient({ transport: http(server.anvil.url) });
    const abi = parseAbi([
      "function balanceOf(address) view returns (uint256)",
      "function symbol() view returns (string)",
    ]);
    const address = deployed.address as Hex;
    expect(await client.readContract({ address, abi, functionName: "balanceOf", args: [ANVIL_ACCOUNTS[2]] })).toBe(5n);
    expect(await client.readContract({ address, abi, functionName: "symbol" })).toBe("EXM");

    const plain = await server.call("GET", "/contracts");
    const all = await server.call("GET", "/contracts?filter_tokens=false");
    const idsOf = (answer: { body: unknown }): string[] =>
      (answer.body as { id: string }[]).map((contract) => contract.id);
    expect(idsOf(plain)).not.toContain(id);
    expect(idsOf(all)).toContain(id);
    expect(idsOf(await server.call("GET", "/contracts?type=erc20"))).toEqual([id]);
    expect(await server.call("GET", `/token_contracts/${id}`)).toMatchObject({
      status: 200,
      body: { type: "erc20", name: "Example", symbol: "EXM", decimals: 18, address, contract_id: id },
    });
    expect(server.contracts.abis.find(server.networkId, address)).toMatchObject([
      {
        contract: { contractId: id, owner: server.owner },
        abi: expect.arrayContaining([expect.objectContaining({ type: "event", name: "Transfer" })]) as unknown,
      },
    ]);
  });

  it("reports faults by file, line and column, and stores them in the record", async () => {
    const made = await create({
      params: {
        raw_source: { "a/Bad.sol": 'pragma solidity ^0.8.0;\ncontract Bad {\n  uint256 public x = "seven";\n}' },
      },
    });
    expect(made.status).toBe(202);
    const failed = await server.until(made.body.id, ({ status }) => status !== "compiling");
    expect(failed).toMatchObject({
      status: "failed",
      address: "0x",
      errors: [{ file: "a/Bad.sol", line: 3, column: 22 }],
    });
  });

  it("stores the reason when the arguments do not fit, and the compiled artifact for another try", async () => {
    const made = await create({
      params: { raw_source: PROBE, contract_name: "Probe", argv: ["many"], account_id: server.account.id },
    });
    const id = made.body.id;
    const failed = await server.until(id, ({ status }) => status !== "compiling");
    expect(failed).toMatchObject({
      status: "failed",
      errors: [{ code: "argument_invalid", message: expect.stringContaining("params.argv[0]") as string }],
    });
    await server.write(id, { params: [9], account_id: server.account.id });
    const deployed = await server.until(id, ({ status }) => status === "deployed");
    expect(deployed.errors).toEqual([]);
  });
});

describe("registering", () => {
  it("detects an ERC-721 and its name by asking the address", async () => {
    const compiled = compile(withImports("Cards.sol", COLLECTIBLE), "Cards");
    const made = await create({
      params: { compiled_artifact: { ...artifactOf(compiled), abi: [] }, account_id: server.account.id },
    });
    const { address, type } = await server.until(made.body.id, ({ status }) => status === "deployed");
    expect(type).toBe("erc721");
    const other = server.token({ kind: "application" });
    const token = await server.call("POST", "/token_contracts", { network_id: server.networkId, address }, other);
    expect(token).toMatchObject({
      status: 201,
      body: {
        type: "erc721",
        name: "Cards",
        symbol: "CRD",
        decimals: null,
        application_id: server.subjectOf(other).id,
      },
    });
    expect((await server.call("GET", "/token_contracts", undefined, other)).headers.get("x-total-results-count")).toBe(
      "1",
    );
    expect(
      await server.call("POST", "/token_contracts", { network_id: server.networkId, address: probe.address }, other),
    ).toMatchObject({ status: 422, body: { errors: [{ code: "not_a_token" }] } });
    expect(
      (await server.call("GET", "/contracts?filter_tokens=false", undefined, other)).headers.get(
        "x-total-results-count",
      ),
    ).toBe("1");
  });

  it("registers a deployed contract as it is, also while its node is down", async () => {
    server.rpc.spoil = () => "lost";
    const made = await server.call("POST", "/public/contracts", {
      network_id: server.networkId,
      address: probe.address,
      name: "known",
      params: { abi: probe.compiled.abi },
    });
    server.rpc.spoil = () => undefined;
    expect(made).toMatchObject({ status: 201, body: { status: "registered", address: probe.address, type: null } });
    expect(await read(made.body.id, "maker")).toBe(server.account.address);
    expect(
      await server.call("POST", "/public/contracts", { network_id: server.networkId, name: "nowhere" }),
    ).toMatchObject({ status: 400, body: { message: "contract address not provided" } });
  });

  it("asks the type of a contract once its node is back, and never after its owner has given it", async () => {
    const compiled = compile(withImports("Cards.sol", COLLECTIBLE), "Cards");
    const { body } = await create({
      params: { compiled_artifact: { ...artifactOf(compiled), abi: [] }, account_id: server.account.id },
    });
    const { address } = await server.until(body.id, ({ status }) => status === "deployed");
    const other = server.token();
    const register = async (more: object = {}) =>
      await server.call("POST", "/public/contracts", { network_id: server.networkId, address, ...more }, other);
    server.rpc.spoil = () => "lost";
    const [unknown, said] = [await register(), await register({ type: "registry" })];
    expect([unknown.body.type, said.body.type]).toEqual([null, "registry"]);
    expect(
      await server.call("POST", "/token_contracts", { network_id: server.networkId, address }, other),
    ).toMatchObject({ body: { errors: [{ code: "network_unreachable" }] } });
    server.rpc.spoil = () => undefined;
    for (let type: string | null = null; type !== "erc721";)
      ({ type } = (await server.call("GET", `/contracts/${unknown.body.id}`, undefined, other)).body);
    expect(await server.call("GET", `/token_contracts/${unknown.body.id}`, undefined, other)).toMatchObject({
      status: 200,
      body: { name: "Cards", symbol: "CRD" },
    });
    expect((await server.call("GET", `/contracts/${said.body.id}`, undefined, other)).body.type).toBe("registry");
  });

  it("keeps owners apart, also by address", async () => {
    const other = server.token();
    for (const path of [`/contracts/${probe.id}`, `/contracts/${probe.address}`]) {
      expect((await server.call("GET", path, undefined, other)).status).toBe(404);
      expect((await server.call("DELETE", path, undefined, other)).status).toBe(404);
      expect((await server.call("POST", `${path}/execute`, { method: "stored" }, other)).status).toBe(404);
    }
    expect((await server.call("GET", "/contracts", undefined, other)).body).toEqual([]);
  });

  it("changes name, type and ABI, and deletes", async () => {
    const made = await create({ address: NOBODY });
    const path = `/contracts/${made.body.id}`;
    expect(
      (
        await server.call("PUT", path, {
          name: "renamed",
          params: { abi: [{ type: "function", name: "f", inputs: [], outputs: [] }] },
        })
      ).status,
    ).toBe(204);
    expect(await server.call("GET", path)).toMatchObject({
      body: { name: "renamed", params: { abi: [{ name: "f", stateMutability: "nonpayable" }] } },
    });
    expect((await server.call("PUT", path, { type: "erc20" })).status).toBe(204);
    expect(await server.call("GET", `/token_contracts/${made.body.id}`)).toMatchObject({
      status: 200,
      body: { type: "erc20", symbol: null },
    });
    expect((await server.call("DELETE", path)).status).toBe(204);
    expect((await server.call("GET", path)).status).toBe(404);
  });

  it("sorts by last use without a write for each use", async () => {
    const owner = server.token();
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) ids.push((await create({ name, address: NOBODY }, owner)).body.id);
    for (const id of [ids[2], ids[0]]) await server.call("GET", `/contracts/${id ?? ""}`, undefined, owner);
    const recent = await server.call("GET", "/contracts?sort=recent", undefined, owner);
    expect((recent.body as unknown as { name: string }[]).map(({ name }) => name)).toEqual(["a", "c", "b"]);
    const paged = await server.call("GET", "/contracts?sort=recent&page=2&rpp=2", undefined, owner);
    expect(paged.body as unknown as { name: string; accessed_at: string | null }[]).toMatchObject([
      { name: "b", accessed_at: null },
    ]);
    expect(paged.headers.get("x-total-results-count")).toBe("3");
  });
});

describe("executing", () => {
  it("answers reads at once: wide integers as texts, tuples by name, lists in order", async () => {
    expect(await read(probe.id, "numbers")).toEqual({
      small: 255,
      medium: -140737488355328,
      large: String(2n ** 256n - 1n),
      negative: String(-(2n ** 255n)),
    });
    const shape = { name: "line", points: [[-1, "2"], { x: 3, y: "0x10" }], tag: "0xdeadbeef" };
    expect(await read(probe.address, "echo", [shape, [true, false]])).toEqual([
      {
        name: "line",
        points: [
          { x: "-1", y: "2" },
          { x: "3", y: "16" },
        ],
        tag: "0xdeadbeef",
      },
      [true, false],
    ]);
    expect(await read(probe.id, "whoAmI", [], { account_address: ANVIL_ACCOUNTS[1] })).toBe(ANVIL_ACCOUNTS[1]);
    const answer = await server.call("POST", `/contracts/${probe.id}/execute`, { method: "stored", ref: "mine" });
    expect(answer.body).toMatchObject({ confidence: null, ref: "mine" });
  });

  it("sends writes under the caller's ref, overloads by signature or by the number of arguments", async () => {
    const mined = await server.write(probe.id, {
      method: "set(uint256)",
      params: [77],
      account_id: server.account.id,
      ref: "first-write",
    });
    expect(mined).toMatchObject({ ref: "first-write", status: "success", contract_id: probe.id });
    expect(await read(probe.id, "stored")).toBe("77");
    await server.write(probe.id, { method: "set", params: ["1", "2"], account: server.account.id });
    expect(await read(probe.id, "stored")).toBe("3");
    await server.write(probe.id, { method: "pay", account_id: server.account.id, value: "1000000000" });
    expect(BigInt(String(await server.anvil.request("eth_getBalance", probe.address, "latest")))).toBe(1000000005n);
    expect(await refused(probe.id, { method: "pay", account_id: server.account.id, ref: "first-write" })).toMatchObject(
      { status: 409, code: "ref_taken" },
    );
  });

  it.each([
    [
      "a custom error of the ABI",
      { method: "set(uint256)", params: [101] },
      422,
      "execution_reverted",
      /TooMuch\(asked: "101", by: "0x/,
    ],
    ["Error(string)", { method: "refuse" }, 422, "execution_reverted", /never/],
    ["a panic", { method: "divide", params: [1, 0] }, 422, "execution_reverted", /division by zero/],
    ["a revert without a reason", { method: "silent" }, 422, "execution_reverted", /without a reason/],
    ["a method that is not there", { method: "missing" }, 422, "method_unknown", /no method "missing"/],
    [
      "an overload that cannot be told",
      { method: "set", params: [] },
      422,
      "method_ambiguous",
      /set\(uint256,uint256\), set\(uint256\)/,
    ],
    [
      "a wrong number of arguments",
      { method: "divide", params: [1] },
      422,
      "argument_invalid",
      /2 arguments needed \(a, b\), 1 given/,
    ],
    [
      "value for a method that takes none",
      { method: "set(uint256)", params: [1], value: 1 },
      422,
      "argument_invalid",
      /takes no value/,
    ],
    [
      "several signers",
      { method: "stored", account: ANVIL_ACCOUNTS[1], account_address: ANVIL_ACCOUNTS[1] },
      422,
      "invalid_request",
      /one signer/,
    ],
    [
      "a wallet without its path",
      { method: "pay", wallet_id: UNKNOWN_ID },
      422,
      "invalid_request",
      /hd_derivation_path/,
    ],
    ["a signer who is nobody's", { method: "pay", account_id: UNKNOWN_ID }, 422, "signer_not_found", /./],
    ["somebody else paying", { method: "pay", subsidize: true }, 422, "option_unsupported", /gas/],
  ])("refuses %s", async (name, body, status, code, message) => {
    const signer = "params" in body && name.startsWith("a custom") ? { account_id: server.account.id } : {};
    expect(await refused(probe.id, { ...body, ...signer })).toMatchObject({
      status,
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  it("refuses a write without a signer, and without the permissions to spend", async () => {
    expect(await refused(probe.id, { method: "pay" })).toMatchObject({ status: 422, code: "signer_not_found" });
    const reader = server.token({ without: "vault_use" });
    const made = await create({ address: probe.address, params: { abi: probe.compiled.abi } }, reader);
    const path = `/contracts/${made.body.id}/execute`;
    expect((await server.call("POST", path, { method: "stored" }, reader)).status).toBe(200);
    expect(await server.call("POST", path, { method: "pay", account: ANVIL_ACCOUNTS[1] }, reader)).toMatchObject({
      status: 403,
      body: { errors: [{ code: "forbidden" }] },
    });
  });

  it("says when gas runs out, before and on the chain", async () => {
    expect(await refused(probe.id, { method: "numbers", gas: 21_100 })).toMatchObject({
      status: 422,
      code: "out_of_gas",
    });
    const burnt = await server.write(probe.id, { method: "burn", account_id: server.account.id, gas: 60_000 });
    expect(burnt).toMatchObject({ status: "failed" });
  });

  it("names what a node that is down or answers garbage did, and an address without code", async () => {
    server.rpc.spoil = (method) => (method === "eth_call" ? "lost" : undefined);
    expect(await refused(probe.id, { method: "stored" })).toMatchObject({ status: 502, code: "network_unreachable" });
    server.rpc.spoil = (method) => (method === "eth_call" ? { answer: "garbage" } : undefined);
    expect(await refused(probe.id, { method: "stored" })).toMatchObject({
      status: 502,
      code: "network_answer_invalid",
    });
    const refusal = new RpcRefusal("Internal error", -32_603);
    server.rpc.spoil = (method) => (method === "eth_call" || method === "eth_estimateGas" ? { refusal } : undefined);
    for (const method of ["stored", "burn"])
      expect(await refused(probe.id, { method, account_id: server.account.id }), method).toMatchObject({
        status: 502,
        code: "network_answer_invalid",
        message: "the network's node failed: Internal error",
      });
    server.rpc.spoil = (method) => (method === "eth_call" ? { answer: "0x01" } : undefined);
    expect(await refused(probe.id, { method: "stored" })).toMatchObject({
      status: 422,
      code: "contract_answer_invalid",
    });
    server.rpc.spoil = () => undefined;
    const empty = await create({ address: NOBODY, params: { abi: probe.compiled.abi } });
    expect(await refused(empty.body.id, { method: "stored" })).toMatchObject({
      status: 422,
      code: "contract_answer_invalid",
      message: expect.stringContaining("without code") as string,
    });
  });
});

describe("bad input to a creation", () => {
  it.each([
    [
      "an ABI that is none",
      { params: { abi: [{ type: "function", name: "f", inputs: [{ type: "uint7" }] }] } },
      422,
      "abi_invalid",
      "params.abi[0]",
    ],
    [
      "an ABI whose arrays would never end",
      { params: { abi: [{ type: "function", name: "f", outputs: [{ type: "uint8[9999][9999]" }] }] } },
      422,
      "abi_invalid",
      "params.abi[0]",
    ],
    [
      "bytecode that is no hex",
      { params: { compiled_artifact: { abi: [], bytecode: "0xzz" } } },
      422,
      "bytecode_invalid",
      "params.compiled_artifact.bytecode",
    ],
    [
      "a deployment without bytecode",
      { params: { compiled_artifact: { abi: [] }, account: ANVIL_ACCOUNTS[1] } },
      422,
      "bytecode_invalid",
      "params.compiled_artifact.bytecode",
    ],
    ["a wrong checksum", { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" }, 422, "invalid_request", "address"],
    [
      "source and artifact at once",
      { params: { raw_source: "contract A {}", compiled_artifact: { abi: [] } } },
      422,
      "source_invalid",
      "params.raw_source",
    ],
    [
      "a main file that is not there",
      { params: { raw_source: { "a.sol": "contract A {}" }, main: "b.sol" } },
      422,
      "source_invalid",
      "params.main",
    ],
    [
      "a path that climbs",
      { params: { raw_source: { "../a.sol": "contract A {}" } } },
      422,
      "source_invalid",
      "params.raw_source",
    ],
    ["a network that is not there", { network_id: UNKNOWN_ID }, 404, "not_found", undefined],
    ["a parent that is not there", { contract_id: UNKNOWN_ID }, 404, "not_found", undefined],
    ["an application that is not the caller's", { application_id: UNKNOWN_ID }, 404, "not_found", undefined],
  ])("refuses %s and stores nothing", async (_name, body, status, code, path) => {
    const token = server.token();
    const answer = await create(body, token);
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    const first = answer.body.errors[0];
    expect(first?.code).toBe(code);
    if (path !== undefined) expect(first?.path).toBe(path);
    expect((await server.call("GET", "/contracts?filter_tokens=false", undefined, token)).body).toEqual([]);
  });
});
