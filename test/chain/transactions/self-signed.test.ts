// Transactions that callers signed: refused, held and followed as what the server signs, and by their owner alone.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { ANVIL_KEYS } from "../../support/anvil.js";
import { failsWith, openBench, RECEIVER, type Bench } from "./support.js";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ confirmations: 4 });
});
afterAll(async () => {
  await bench.close();
});
afterEach(async () => {
  bench.rpc.spoil = () => undefined;
  await bench.anvil.request("evm_setAutomine", true);
});

const isMined = ({ block }: { readonly block: number | null }): boolean => block !== null;
describe("transactions that callers signed", () => {
  const signer = privateKeyToAccount(ANVIL_KEYS[2]);
  const signed = async (more: object = {}): Promise<string> =>
    await signer.signTransaction({
      type: "eip1559",
      chainId: bench.anvil.chainId,
      nonce: 0,
      to: RECEIVER,
      value: 7n,
      gas: 21_000n,
      maxFeePerGas: 5_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
      ...more,
    });
  const nextNonce = async (): Promise<number> =>
    Number(await bench.anvil.request("eth_getTransactionCount", signer.address, "latest"));
  const broadcast = async (raw: string) =>
    await bench.transactions.selfSigned.broadcast(bench.owner, { network_id: bench.networkId, raw_transaction: raw });

  it("are stored, sent and followed", async () => {
    const made = await broadcast(await signed());
    expect(made).toMatchObject({
      state: "sent",
      signer: signer.address,
      to: RECEIVER,
      value: 7,
      nonce: 0,
      account_id: null,
    });
    await bench.until(made.id, isMined);
    expect((await failsWith(bench.transactions.replacements.bump(bench.owner, made.id, {}))).code).toBe(
      "transaction_settled",
    );
  });

  it("are refused for another chain, with a nonce of the past, and when they are none", async () => {
    expect((await failsWith(broadcast(await signed({ chainId: 1, nonce: 1 })))).code).toBe("transaction_invalid");
    expect((await failsWith(broadcast("0x02c0"))).code).toBe("transaction_invalid");
    const accessList = [{ address: RECEIVER, storageKeys: [`0x${"00".repeat(32)}`] }];
    expect((await failsWith(broadcast(await signed({ nonce: 1, accessList, gas: 25_299n })))).code).toBe("out_of_gas");
    const refused = await failsWith(broadcast(await signed({ value: 10n ** 30n, nonce: 1 })));
    expect(refused.code).toBe("insufficient_funds");
  });

  it.each([
    ["0x03c0", "is a blob transaction (type 3, EIP-4844): those are not sent, types 0, 1 and 2 are"],
    ["0x04c0", "is a transaction with authorizations (type 4, EIP-7702): those are not sent, types 0, 1 and 2 are"],
  ])("of a type that is not sent (%s) are told so", async (raw, message) => {
    expect(await failsWith(broadcast(raw))).toEqual({
      code: "transaction_invalid",
      message: `\`raw_transaction\` ${message}`,
    });
  });

  it("of one nonce, sent at the same moment: one passes, the others are told that it is in use", async () => {
    const nonce = await nextNonce();
    const raws = [];
    for (const value of [1n, 2n, 3n]) raws.push(await signed({ nonce, value }));
    const results = await Promise.allSettled(raws.map(broadcast));
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "nonce_in_use" } }, { reason: { code: "nonce_in_use" } }]);
    const [made] = results.filter((result) => result.status === "fulfilled");
    expect(await bench.until(made!.value.id, isMined)).toMatchObject({ nonce, status: "success" });
  });

  it("stay open when a node refuses them without a final reason, and are no failure when it has them", async () => {
    const refusal = new RpcRefusal("Internal error", -32_603);
    const nonce = await nextNonce();
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? { refusal } : undefined);
    const held = await broadcast(await signed({ nonce }));
    expect(held).toMatchObject({ state: "signed", status: "pending", error: { code: "transaction_refused" } });
    bench.rpc.spoil = () => undefined;
    await bench.until(held.id, isMined);
    const taken = await signed({ nonce: nonce + 1 });
    await bench.anvil.request("eth_sendRawTransaction", taken);
    const known = await broadcast(taken);
    expect(await bench.until(known.id, isMined)).toMatchObject({ nonce: nonce + 1, status: "success" });
  });

  it("are no concern of the queue of another owner, who submits the same bytes", async () => {
    const find = bench.networks.find.bind(bench.networks);
    const spy = vi.spyOn(bench.networks, "find").mockImplementation((_owner, id) => find(bench.owner, id));
    try {
      await bench.anvil.request("evm_setAutomine", false);
      const eve = { kind: "user" as const, id: "eve" };
      const raw = await signed({ nonce: await nextNonce() });
      const made = await broadcast(raw);
      const { selfSigned, service } = bench.transactions;
      const other = await selfSigned.broadcast(eve, { network_id: bench.networkId, raw_transaction: raw });
      await bench.anvil.request("evm_setAutomine", true);
      await bench.anvil.request("anvil_mine", "0x1");
      await bench.until(made.id, isMined);
      await expect.poll(() => isMined(service.get(eve, other.id)), { interval: 50 }).toBe(true);
    } finally {
      spy.mockRestore();
    }
  });

  it("stay open when a node refuses them for good after another failed, which may have taken them", async () => {
    const refusal = new RpcRefusal("exceeds block gas limit", -32_000).afterFailure();
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? { refusal } : undefined);
    const held = await broadcast(await signed({ nonce: await nextNonce() }));
    expect(held).toMatchObject({ state: "signed", status: "pending", error: { code: "transaction_refused" } });
    bench.rpc.spoil = () => undefined;
    expect(await bench.until(held.id, isMined)).toMatchObject({ status: "success", error: null });
  });
});
