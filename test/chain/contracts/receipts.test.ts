/** Receipts of transactions as their owners read them, against a real node: logs, reverts and simulated returns. */
import Value from "typebox/value";
import { decodeEventLog, parseAbi, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readReceipt } from "../../../src/chain/transactions/node-values.js";
import {
  LOG_BYTES_MAX,
  LOGS_MAX,
  Transaction,
  type TransactionJson,
} from "../../../src/chain/transactions/transaction-schemas.js";
import { compileSolidity } from "../../../src/engine/solidity/compile-solidity.js";
import { ANVIL_ACCOUNTS } from "../../support/anvil.js";
import { eventually } from "../../support/eventually.js";
import { startContractsServer, type ContractsServer } from "./support.js";

const SOURCE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Other { event Heard(uint256 amount); function hear(uint256 amount) external { emit Heard(amount); } }
contract Diary {
  struct Entry { uint8 kind; bytes4 tag; }
  event Opened(address indexed by, uint256 first);
  event Noted(address indexed by, string indexed title, uint256 amount, Entry entry);
  event Blob(bytes data);
  error Refused(uint256 amount, address by);
  Other public immutable other = new Other();
  uint256 public sum;
  constructor(uint256 first) { emit Opened(msg.sender, first); }
  function note(uint256 amount) external returns (uint256 total, bool large) {
    emit Noted(msg.sender, "note", amount, Entry(7, 0x01020304));
    other.hear(amount);
    sum += amount;
    return (sum, amount > 10);
  }
  function many(uint256 count, uint256 size) external { for (uint256 i = 0; i < count; i++) emit Blob(new bytes(size)); }
  function fill(uint256 size) external returns (bytes memory) { sum++; return new bytes(size); }
  function refuse(uint256 amount) external { sum = amount; revert Refused(amount, msg.sender); }
}`;
const NOTED = parseAbi([
  "event Noted(address indexed by, string indexed title, uint256 amount, (uint8 kind, bytes4 tag) entry)",
]);

let server: ContractsServer;
let diary: { readonly id: string; readonly address: string; readonly transactionId: string };

const get = (id: string): TransactionJson => server.transactions.service.get(server.owner, id);
const note = async (amount: number, more: object = {}): Promise<TransactionJson> =>
  await execute("note", [amount], more);

async function execute(method: string, params: readonly unknown[], more: object = {}): Promise<TransactionJson> {
  const { id } = await server.write(diary.id, { method, params, account_id: server.account.id, ...more });
  return get(id);
}

/** Sends a transaction that is made through no contract. */
async function send(more: {
  readonly to: string;
  readonly data?: string;
  readonly gas?: bigint;
}): Promise<TransactionJson> {
  const { id } = await server.transactions.service.submit(server.owner, {
    networkId: server.networkId,
    signer: { accountId: server.account.id },
    ...more,
  });
  return await mined(id);
}

beforeAll(async () => {
  server = await startContractsServer();
  const compiled = compileSolidity({
    sources: { "diary.sol": SOURCE },
    contract: "Diary",
    settings: { evmVersion: "cancun", optimizerRuns: 200, viaIr: false },
  });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const made = await server.call("POST", "/contracts", {
    network_id: server.networkId,
    params: {
      compiled_artifact: { contractName: "Diary", abi: compiled.abi, bytecode: `0x${compiled.bytecode}` },
      argv: [41],
      account_id: server.account.id,
    },
  });
  const { address, transaction_id: transactionId } = await server.until(
    made.body.id,
    ({ status }) => status === "deployed",
  );
  diary = { id: made.body.id, address, transactionId: transactionId ?? "" };
});
afterEach(() => {
  server.rpc.spoil = () => undefined;
});
afterAll(async () => {
  await server.close();
});

describe("the receipt of a transaction", () => {
  it("of a plain transfer has no logs", async () => {
    const transfer = await send({ to: ANVIL_ACCOUNTS[1] });
    const chain = (await server.anvil.request("eth_getTransactionReceipt", transfer.hash)) as Record<string, string>;
    expect(transfer.receipt).toEqual({
      block_hash: chain.blockHash,
      block_number: Number(chain.blockNumber),
      status: "success",
      gas_used: "21000",
      effective_gas_price: String(BigInt(chain.effectiveGasPrice ?? "")),
      contract_address: null,
      logs: [],
      logs_count: 0,
      logs_truncated: false,
      revert: null,
    });
    expect(transfer.simulated_return).toBeNull();
    expect(Value.Check(Transaction, transfer)).toBe(true);
  });

  it("of a deployment has the contract's address and what its constructor emitted", () => {
    const { receipt } = get(diary.transactionId);
    expect(receipt).toMatchObject({
      status: "success",
      contract_address: diary.address.toLowerCase(),
      logs_count: 1,
      logs: [
        {
          address: diary.address,
          contract_id: diary.id,
          event: { name: "Opened", args: { by: server.account.address, first: "41" } },
        },
      ],
    });
  });

  it("of a call has its logs in order, those of contracts that are known by name and arguments", async () => {
    const called = await note(5);
    const { logs } = called.receipt ?? {};
    expect(logs).toHaveLength(2);
    expect(logs?.[0]).toMatchObject({
      index: 0,
      address: diary.address,
      event: {
        name: "Noted",
        args: { by: server.account.address, amount: "5", entry: { kind: 7, tag: "0x01020304" } },
      },
    });
    const { topics = [], data = "0x" } = logs?.[0] ?? {};
    const byViem = decodeEventLog({ abi: NOTED, topics: topics as [Hex, ...Hex[]], data: data as Hex });
    expect(byViem.args).toMatchObject({ by: server.account.address, amount: 5n });
    // The other contract's event is in no ABI that the owner has.
    expect(logs?.[1]).toMatchObject({ index: 1, contract_id: null, event: null });
    expect(logs?.[1]?.address).not.toBe(diary.address);
    expect(Value.Check(Transaction, called)).toBe(true);
  });

  it("of a transaction that was not made through the contract is decoded by the address too", async () => {
    const data = get((await note(1)).id).data ?? "";
    expect((await send({ to: diary.address, data })).receipt?.logs?.[0]?.event?.name).toBe("Noted");
  });

  it("is decoded by the caller's own contracts only", async () => {
    const stranger = server.token();
    const registered = await server.call(
      "POST",
      "/contracts",
      {
        network_id: server.networkId,
        address: diary.address,
        params: { abi: [{ type: "error", name: "Mine", inputs: [] }] },
      },
      stranger,
    );
    expect(registered.status, JSON.stringify(registered.body)).toBe(201);
    expect((await note(1)).receipt?.logs?.[0]).toMatchObject({ contract_id: diary.id, event: { name: "Noted" } });
  });

  it("of a revert has the error by name and arguments", async () => {
    const reverted = await execute("refuse", [9], { gas: 200_000 });
    expect(reverted).toMatchObject({ status: "failed", error: { code: "execution_reverted" } });
    expect(reverted.receipt).toMatchObject({
      status: "reverted",
      logs: [],
      logs_count: 0,
      revert: {
        name: "Refused",
        args: { amount: "9", by: server.account.address },
        data: expect.stringMatching(/^0x[0-9a-f]{136}$/) as string,
      },
    });
    expect(Value.Check(Transaction, reverted)).toBe(true);
  });

  it("has the first logs of many, and says that there are more", async () => {
    const { receipt } = await execute("many", [LOGS_MAX + 40, 0]);
    expect(receipt).toMatchObject({ logs_count: LOGS_MAX + 40, logs_truncated: true });
    expect(receipt?.logs?.map(({ index }) => index)).toEqual(Array.from({ length: LOGS_MAX }, (_, at) => at));
    expect((await execute("many", [LOGS_MAX, 0])).receipt).toMatchObject({
      logs_count: LOGS_MAX,
      logs_truncated: false,
    });
  });

  it("has no more bytes of logs than it may", async () => {
    const { receipt } = await execute("many", [8, 4_000]);
    const bytes = receipt?.logs?.reduce((sum, { data }) => sum + (data.length - 2) / 2, 0);
    expect(receipt).toMatchObject({ logs_count: 8, logs_truncated: true });
    expect(receipt?.logs).toHaveLength(Math.floor(LOG_BYTES_MAX / 4_096));
    expect(bytes).toBeLessThanOrEqual(LOG_BYTES_MAX);
    expect((await execute("many", [1, LOG_BYTES_MAX])).receipt).toMatchObject({ logs: [], logs_truncated: true });
  });

  it("is null before a block has the transaction, and no list has it", async () => {
    await server.anvil.request("evm_setAutomine", false);
    const sent = await server.call("POST", `/contracts/${diary.id}/execute`, {
      method: "note",
      params: [1],
      account_id: server.account.id,
    });
    expect(get(sent.body.ref)).toMatchObject({ receipt: null, simulated_return: { method: "note(uint256)" } });
    await server.anvil.request("evm_setAutomine", true);
    await server.anvil.request("anvil_mine", "0x1");
    expect((await mined(sent.body.ref)).receipt?.logs_count).toBe(2);
    const { body } = server.transactions.service.list(server.owner, {}, { page: 1, rpp: 100 });
    expect(body.length).toBeGreaterThan(0);
    expect(body.filter((listed) => "receipt" in listed || "simulated_return" in listed)).toEqual([]);
    expect(body.filter((listed) => !Value.Check(Transaction, listed))).toEqual([]);
  });

  it("does without logs that are not sound: the outcome is recorded all the same", async () => {
    const log = { address: diary.address, topics: [], data: "0x", logIndex: "0x0" };
    for (const logs of [undefined, null, {}, [null], [{ ...log, topics: ["0x01"] }], [{ ...log, data: "0x0" }]]) {
      const receipt = readReceipt(
        { ...receiptOf(`0x${"ab".repeat(32)}`), ...(logs === undefined ? {} : { logs }) },
        `0x${"ab".repeat(32)}`,
      );
      expect(receipt).toMatchObject({ isSuccess: true, logs: undefined });
    }
    server.rpc.spoil = (method, [hash]) => {
      if (method !== "eth_getTransactionReceipt") return undefined;
      return { answer: { ...receiptOf(String(hash)), logs: [{ ...log, topics: "none" }] } };
    };
    const transfer = await send({ to: ANVIL_ACCOUNTS[1] });
    expect(transfer).toMatchObject({
      status: "success",
      receipt: { logs: null, logs_count: null, logs_truncated: false },
    });
  });
});

describe("the simulated return of a call", () => {
  it("is what the method returned at submission", async () => {
    const read = await server.call("POST", `/contracts/${diary.id}/execute`, { method: "sum" });
    const sum = BigInt(String(read.body.response));
    const called = await note(20);
    expect(called.simulated_return).toEqual({
      method: "note(uint256)",
      value: { total: String(sum + 20n), large: true },
    });
  });

  it.each([
    ["a node that does not answer", () => "lost" as const],
    ["an answer that is no data", () => ({ answer: 7 })],
    ["an answer of other types", () => ({ answer: "0x01" })],
  ])("is null with %s, and the transaction is sent", async (_what, fault) => {
    server.rpc.spoil = (method) => (method === "eth_call" ? fault() : undefined);
    expect(await note(1)).toMatchObject({ status: "success", simulated_return: null });
  });

  it("is null for more than a record keeps, and where nothing is returned", async () => {
    expect((await execute("fill", [4_000])).simulated_return).toMatchObject({ method: "fill(uint256)" });
    expect((await execute("fill", [4_096])).simulated_return).toBeNull();
    expect((await execute("many", [1, 1])).simulated_return).toBeNull();
  });

  it("is null for a call that reverts in spite of the gas that the caller gave", async () => {
    expect((await note(1, { gas: 25_000 })).simulated_return).toBeNull();
  });
});

async function mined(idOrRef: string): Promise<TransactionJson> {
  return await eventually(() => {
    const transaction = get(idOrRef);
    expect(transaction.block).not.toBeNull();
    return transaction;
  });
}

/** A receipt as nodes write it, without logs. */
function receiptOf(hash: string): Readonly<Record<string, unknown>> {
  return {
    transactionHash: hash,
    blockHash: `0x${"cd".repeat(32)}`,
    blockNumber: "0x1",
    status: "0x1",
    contractAddress: null,
    gasUsed: "0x5208",
    effectiveGasPrice: "0x1",
  };
}
