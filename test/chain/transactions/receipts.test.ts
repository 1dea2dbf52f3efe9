// What records keep of receipts over reorganisations and versions, and gas limits that no block has room for.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TransactionRepository } from "../../../src/chain/transactions/transaction-repository.js";
import type { TransactionRecord } from "../../../src/chain/transactions/transaction-record.js";
import { PING_CREATION, pingCall } from "../events/ping.js";
import { failsWith, openBench, RECEIVER, type Bench } from "./support.js";

let bench: Bench;
let account: { readonly id: string };
let ping: string;

beforeAll(async () => {
  bench = await openBench({ confirmations: 3 });
  account = await bench.account();
  const created = await submit({ data: PING_CREATION });
  ping = (await bench.until(created, ({ block }) => block !== null)).contract_address ?? "";
});
afterEach(async () => {
  bench.rpc.spoil = () => undefined;
  await bench.anvil.request("evm_setAutomine", true);
});
afterAll(async () => {
  await bench.close();
});

const submit = async (more: object): Promise<string> => {
  const request = { networkId: bench.networkId, signer: { accountId: account.id }, ...more };
  return (await bench.transactions.service.submit(bench.owner, request)).id;
};
const isMined = ({ block }: { readonly block: number | null }): boolean => block !== null;

/** Writes a record as another version of the server would have left it. */
async function rewrite(id: string, change: (record: TransactionRecord) => TransactionRecord): Promise<void> {
  const repository = new TransactionRepository({ store: bench.vault.store });
  const current = repository.find(bench.owner, id);
  if (current === undefined) throw new Error("no such record");
  await repository.commit(repository.update(current, change(current.value)));
}

describe("receipts of records", () => {
  it("have logs that are not decoded where no contract is known, and still have them once confirmed", async () => {
    const id = await submit({ to: ping, data: pingCall(7) });
    const mined = await bench.until(id, isMined);
    expect(mined.receipt).toMatchObject({ logs: [{ data: pingCall(7), event: null }], logs_count: 1, revert: null });
    await bench.anvil.request("anvil_mine", "0x3");
    const confirmed = await bench.until(id, ({ state }) => state === "confirmed");
    expect(confirmed.receipt).toEqual(mined.receipt);
    await bench.restart();
    expect(bench.transactions.service.get(bench.owner, id).receipt).toEqual(mined.receipt);
  });

  it("follow the chain: none while a reorganised transaction is in no block, then that of its new block", async () => {
    const id = await submit({ to: ping, data: pingCall(8) });
    const first = await bench.until(id, isMined);
    await bench.anvil.request("evm_setAutomine", false);
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? "lost" : undefined);
    await bench.anvil
      .request("anvil_rollback", 1)
      .catch(async () => await bench.anvil.request("anvil_rollback", { depth: 1 }));
    await bench.anvil.request("evm_increaseTime", 5);
    expect(await bench.until(id, ({ state }) => state === "sent")).toMatchObject({ receipt: null, block: null });
    bench.rpc.spoil = () => undefined;
    await bench.anvil.request("evm_setAutomine", true);
    const again = await bench.until(id, isMined);
    expect(again.receipt?.block_hash).not.toBe(first.block_hash);
    expect(again.receipt).toMatchObject({ block_hash: again.block_hash, block_number: again.block, logs_count: 1 });
  });

  it("of an earlier version have what their members say, and no logs", async () => {
    const id = await submit({ to: ping, data: pingCall(9) });
    await bench.until(id, isMined);
    await bench.anvil.request("anvil_mine", "0x3");
    const now = await bench.until(id, ({ state }) => state === "confirmed");
    await rewrite(id, ({ receipt: _receipt, ...older }) => older);
    const old = (): unknown => bench.transactions.service.get(bench.owner, id).receipt;
    const kept = { ...now.receipt, logs: null, logs_count: null };
    expect(old()).toEqual(kept);
    await rewrite(id, (record) => ({ ...record, state: "failed" }));
    expect(old()).toEqual({ ...kept, status: "reverted" });
    await rewrite(id, (record) => ({ ...record, state: "cancelled" }));
    expect(old()).toEqual({ ...kept, status: null });
  });

  it("of a revert without a known error have its data", async () => {
    // PUSH32 data, PUSH1 0, MSTORE, PUSH1 4, PUSH1 0, REVERT.
    const runtime = `7f${"c0ffee00".padEnd(64, "0")}60005260046000fd`;
    const size = (runtime.length / 2).toString(16);
    const created = await submit({ data: `0x60${size}600c60003960${size}6000f3${runtime}` });
    const to = (await bench.until(created, isMined)).contract_address ?? "";
    const id = await submit({ to, gas: 60_000n });
    expect((await bench.until(id, isMined)).receipt).toMatchObject({
      status: "reverted",
      revert: { name: null, args: null, data: "0xc0ffee00" },
    });
  });
});

describe("a gas limit of the caller's", () => {
  const limitOf = async (): Promise<bigint> =>
    BigInt(((await bench.anvil.request("eth_getBlockByNumber", "latest", false)) as { gasLimit: string }).gasLimit);

  it("is refused at submission when no block has room for it, and taken when it fills a block", async () => {
    const limit = await limitOf();
    const { rows } = new TransactionRepository({ store: bench.vault.store }).list(bench.owner, {}, { page: 1, rpp: 1 });
    expect(await failsWith(submit({ to: RECEIVER, gas: limit + 1n }))).toEqual({
      code: "invalid_request",
      message: `\`gas\` is above what a block of the network takes, ${String(limit)}`,
    });
    expect(bench.transactions.service.list(bench.owner, {}, { page: 1, rpp: 1 }).body[0]?.id).toBe(rows[0]?.id);
    expect(await bench.until(await submit({ to: RECEIVER, gas: limit }), isMined)).toMatchObject({ status: "success" });
  });

  it("is held against the present block where the limit has risen", async () => {
    const limit = await limitOf();
    await bench.anvil.request("evm_setBlockGasLimit", `0x${(limit * 2n).toString(16)}`);
    await bench.anvil.request("anvil_mine", "0x1");
    const id = await submit({ to: RECEIVER, gas: limit + 1n });
    expect(await bench.until(id, isMined)).toMatchObject({ status: "success", gas: String(limit + 1n) });
  });

  it("is taken as it is while the node does not answer, and the transaction waits", async () => {
    await bench.restart();
    bench.rpc.spoil = () => "lost";
    const id = await submit({ to: RECEIVER, gas: 2n ** 40n });
    expect(bench.transactions.service.get(bench.owner, id).status).toBe("pending");
    await bench.transactions.replacements.cancel(bench.owner, id);
  });
});
