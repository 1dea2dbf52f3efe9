/** The client's commands of chains, events and administration as processes against one real server and EVM node. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { runClient, startClient, type Outcome } from "../../support/client-process.js";
import { startServer, type TestServer } from "../../support/server.js";
import { folderOfTest, newFolder, removeFolder } from "../../support/temporary-folder.js";

const COUNTER = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Counter {
  uint256 public count;
  constructor(uint256 first) { count = first; }
  function add(uint256[] calldata amounts) external {
    for (uint256 at = 0; at < amounts.length; at++) { require(amounts[at] > 0, "nothing to add"); count += amounts[at]; }
  }
}
`;
const TEN_ETHER = "0x8ac7230489e80000";
/** Larger than a double holds. */
const FIRST = 2n ** 200n + 1n;

let server: TestServer;
let anvil: Anvil;
let folder: string;
let user: Awaited<ReturnType<TestServer["newUser"]>>;
let network: string;
let account: { readonly id: string; readonly address: string };

beforeAll(async () => {
  [server, anvil] = await Promise.all([startServer(), startAnvil()]);
  folder = newFolder("client-chain");
  user = await server.newUser();
  network = (await made<{ id: string }>(["network", "create", "local", `--rpc-url=${anvil.url}`])).id;
  account = await made(["account", "create", `--network=${network}`]);
  await anvil.request("anvil_setBalance", account.address, TEN_ETHER);
});

afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
  removeFolder(folder);
});

function environment() {
  return { XDG_CONFIG_HOME: folder, PW_TOKEN: user.token, PW_SERVER: server.url };
}

async function run(args: readonly string[]): Promise<Outcome> {
  return await runClient(args, environment());
}

async function made<T>(args: readonly string[]): Promise<T> {
  const outcome = await run([...args, "--json"]);
  expect(outcome, args.join(" ")).toMatchObject({ status: 0 });
  return JSON.parse(outcome.output) as T;
}

describe("contract and tx", () => {
  it("deploys, reads and writes, with integers of any size and lists", async () => {
    const source = join(folderOfTest("source"), "Counter.sol");
    writeFileSync(source, COUNTER);
    const deploy = ["contract", "deploy", source, `--network=${network}`, `--account=${account.id}`];
    const { id } = await made<{ id: string }>([...deploy, "--name=Counter", String(FIRST)]);
    expect(await run(["contract", "call", id, "count"])).toMatchObject({ status: 0, output: `${String(FIRST)}\n` });
    const writing = ["contract", "execute", id, "add", `--account=${account.id}`];
    const written = await run([...writing, "[1, 2]", "--json"]);
    expect(written).toMatchObject({ status: 0 });
    expect(written.errors).toMatch(/^mined 0x/m);
    const { id: transaction } = JSON.parse(written.output) as { id: string };
    expect((await run(["contract", "call", id, "count"])).output).toBe(`${String(FIRST + 3n)}\n`);
    const refused = await run([...writing, "[0]"]);
    expect(refused.status).not.toBe(0);
    expect(refused.errors).toContain("nothing to add");

    expect(await made(["tx", "watch", transaction])).toMatchObject({ id: transaction, status: "success" });
    expect((await run(["tx", "list", "--limit=1"])).output).toContain("0x");
    expect((await run(["contract", "list"])).output).toContain(id);
    // What people see is short; machines get all.
    const shown = await run(["contract", "show", "Counter"]);
    expect(shown.output.length).toBeLessThan(2_500);
    const { address } = await made<{ address: string }>(["contract", "show", "Counter"]);
    expect(await made(["contract", "show", address])).toMatchObject({
      id,
      params: { abi: expect.anything() as object },
    });
    expect(await run(["tx", "list", "--limit=0"])).toMatchObject({ status: 2, output: "" });
  });

  it("sends ether once for a ref", async () => {
    const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const before = BigInt((await anvil.request("eth_getBalance", to, "latest")) as string);
    const sending = ["tx", "send", `--network=${network}`, `--account=${account.id}`, `--to=${to}`, "--wei=5"];
    expect(await made([...sending, "--ref=rent-1"])).toMatchObject({
      status: "success",
      to: expect.anything() as string,
    });
    await run([...sending, "--ref=rent-1"]);
    expect(BigInt((await anvil.request("eth_getBalance", to, "latest")) as string) - before).toBe(5n);
  });

  it("follows, hurries and cancels a transaction that no block takes", async () => {
    await anvil.request("evm_setAutomine", false);
    const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const from = `--account=${account.address}`;
    await made(["tx", "send", "--network=local", from, `--to=${to}`, "--wei=7", "--ref=slow", "--no-wait"]);
    const { hash } = await made<{ hash: string }>(["tx", "show", "slow"]);
    const bumped = await made<{ hash: string }>(["tx", "bump", "slow"]);
    expect(bumped.hash).not.toBe(hash);
    expect(await made(["tx", "cancel", "slow"])).toHaveProperty("cancel_requested_at");
    const watching = run(["tx", "watch", "slow"]);
    await anvil.request("evm_setAutomine", true);
    await anvil.request("evm_mine");
    const watched = await watching;
    expect(watched).toMatchObject({ status: 1, output: "" });
    expect(watched.errors).toContain("proofwright: the transaction was cancelled.\n");
    expect((await run(["tx", "bump", "slow"])).status).toBe(3);
  });

  it("says how a network is, and forgets it once nothing is on it", async () => {
    expect(await made(["account", "show", account.address])).toMatchObject({ id: account.id, network_id: network });
    expect(await made(["network", "show", "local"])).toMatchObject({ id: network, chain_id: "31337" });
    expect((await run(["network", "delete", "local"])).errors).toContain("the network still has accounts");
    const { id } = await made<{ id: string }>(["network", "create", "empty", `--rpc-url=${anvil.url}`]);
    expect(await run(["network", "delete", "empty"])).toMatchObject({ status: 0, output: "Done.\n" });
    expect((await run(["network", "list"])).output).not.toContain(id);
    expect((await run(["network", "list"])).output).toContain(network);
    expect(await made(["network", "status", network])).toMatchObject({ chain_id: "31337" });
    expect(await run(["network", "create", "none"])).toMatchObject({ status: 2, output: "" });
  });
});

describe("events tail", () => {
  it("prints what happens, as lines of JSON, and ends after --limit", async () => {
    const tail = startClient(["events", "tail", "--limit=1", "--json"], environment());
    await tail.printed(/Listening/);
    const made = user.api.createProver({ body: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" } });
    const outcome = await tail.ended;
    await made;
    expect(outcome).toMatchObject({ status: 0 });
    expect(JSON.parse(outcome.output)).toMatchObject({
      id: expect.any(Number) as number,
      subject: expect.any(String) as string,
    });
    expect(await run(["events", "tail", "--from=-1"])).toMatchObject({ status: 2, output: "" });
  });
});

describe("admin", () => {
  it("writes a token to a file that its user alone may read, which works until it is revoked", async () => {
    const output = join(folderOfTest("token"), "token");
    const token = await made<{ id: string }>(["admin", "token", "ci", `--output=${output}`, "--days=1"]);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    const text = readFileSync(output, "utf8").trim();
    expect(JSON.stringify(token)).not.toContain(text);
    await server.as(text).listProvers();
    // The file is there already: nobody gets the token, and none stays.
    const count = (await made<object[]>(["admin", "tokens"])).length;
    expect(await run(["admin", "token", "lost", `--output=${output}`])).toMatchObject({ status: 2, output: "" });
    expect(await made<object[]>(["admin", "tokens"])).toHaveLength(count);
    expect(await run(["admin", "revoke", token.id])).toMatchObject({ status: 0, output: "Done.\n" });
    await expect(server.as(text).listProvers()).rejects.toMatchObject({ status: 401 });
  });

  it("deletes a user by email address, oneself only when told so, or leaves the user alone", async () => {
    const other = await server.newUser();
    const refused = await run(["admin", "delete-user", other.email]);
    expect(refused).toMatchObject({ status: 3, output: "" });
    const asOther = { ...environment(), PW_TOKEN: other.token };
    const unsaid = await runClient(["admin", "delete-user", other.email], asOther);
    expect(unsaid).toMatchObject({ status: 2, output: "" });
    expect(unsaid.errors).toContain("--myself");
    await other.api.listProvers();
    const oneself = ["admin", "delete-user", other.email, "--myself"];
    expect(await runClient(oneself, asOther)).toMatchObject({ status: 0, errors: "" });
    await expect(other.api.listProvers()).rejects.toMatchObject({ status: 401 });
  });

  it("leaves the server to say who may do what", async () => {
    expect(JSON.parse((await run(["admin", "user", user.userId, "--json"])).output)).toMatchObject({ id: user.userId });
    expect(await run(["admin", "permissions", user.userId, "1073741823"])).toMatchObject({ status: 3, output: "" });
    expect(await run(["admin", "permissions", user.userId, "all"])).toMatchObject({ status: 2, output: "" });
  });
});
