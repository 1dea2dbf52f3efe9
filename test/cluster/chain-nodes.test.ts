/**
 * Transactions on several nodes: one sends for all, the others ask it. Real PostgreSQL, real chain; nodes that are
 * killed are processes.
 */
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { WISH_TABLE } from "../../src/chain/transactions/holder/wish-records.js";
import { failsWith, minedNonces, RECEIVER } from "../chain/transactions/support.js";
import { ANVIL_KEYS } from "../support/anvil.js";
import { ChainCluster, type ChainNode } from "../support/chain-nodes.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";

let postgres: Postgres;
let cluster: ChainCluster;
beforeAll(async () => {
  postgres = await Postgres.start();
});
beforeEach(async () => {
  cluster = await ChainCluster.open(postgres);
});
afterEach(async () => {
  await cluster.close();
});
afterAll(async () => {
  await postgres.dispose();
});

const isMined = ({ block }: { readonly block: number | null }): boolean => block !== null;
const isSent = ({ state }: { readonly state: string }): boolean => state === "sent";
const upTo = (count: number): number[] => Array.from({ length: count }, (_, nonce) => nonce);

async function submit({ transactions }: ChainNode, accountId: string, count: number): Promise<string[]> {
  const { owner, networkId } = cluster;
  const request = { networkId, signer: { accountId }, to: RECEIVER, value: 1n };
  const made = await Promise.all(
    Array.from({ length: count }, async () => await transactions.service.submit(owner, request)),
  );
  return made.map(({ id }) => id);
}

/** A node that sends, and one that does not. */
async function sendingAndOther(): Promise<readonly [sender: ChainNode, other: ChainNode]> {
  const [sender, other] = [await cluster.join(), await cluster.join()];
  sender.take();
  await eventually(() => {
    expect(sender.nodes.has("chain")).toBe(true);
  });
  other.take();
  return [sender, other];
}

describe("a node that does not send", () => {
  it("has its transactions sent by the one that does, each once, with the nonces of one account", async () => {
    const [sender, other] = await sendingAndOther();
    const third = await cluster.join();
    const account = await cluster.account(other);
    await Promise.all([sender.store.confirm(), third.store.confirm()]);
    const ids = (
      await Promise.all([sender, other, third].map(async (node) => await submit(node, account.id, 10)))
    ).flat();
    for (const id of ids) await other.until(id, isMined);
    expect((await minedNonces(cluster.anvil, account.address)).map(({ nonce }) => nonce)).toEqual(upTo(30));
    expect(other.transactions.openCount()).toBe(0);
  });

  it("counts the blocks on a transaction, and says why one is not sent", async () => {
    const [sender, other] = await sendingAndOther();
    const { id: accountId } = await cluster.account(other);
    const [first = ""] = await submit(other, accountId, 1);
    const { confirmations } = await other.until(first, ({ confirmations: depth }) => depth !== null);
    expect(confirmations).toBe(1);
    await cluster.anvil.request("anvil_mine", "0x1");
    await other.until(first, ({ confirmations: depth }) => depth === 2);
    cluster.network = { maxFeePerGas: 1n };
    const [second = ""] = await submit(other, accountId, 1);
    const held = await other.until(second, ({ error }) => error !== null);
    expect(held).toMatchObject({ state: "created", error: { code: "fee_cap_exceeded" } });
    expect((await sender.get(second)).error).toEqual(held.error);
    cluster.network = {};
    expect(await other.until(second, isMined)).toMatchObject({ error: null });
    await cluster.anvil.request("anvil_mine", "0x5");
    await sender.until(first, ({ state }) => state === "confirmed");
  });

  it("bumps and cancels through the one that sends, and is refused in the same words", async () => {
    const [sender, other] = await sendingAndOther();
    const { id: accountId } = await cluster.account(other);
    const { requests } = other.transactions;
    await cluster.anvil.request("evm_setAutomine", false);
    const [id = "", second = ""] = await submit(other, accountId, 2);
    for (const each of [id, second]) await other.until(each, isSent);
    const kinds = ({ attempts }: { readonly attempts: readonly { readonly kind: string }[] }): string[] =>
      attempts.map(({ kind }) => kind);
    expect(kinds(await requests.bump(cluster.owner, id, {}))).toEqual(["first", "bump"]);
    expect(kinds(await requests.cancel(cluster.owner, id))).toEqual(["first", "bump", "cancel"]);
    const low = await failsWith(
      requests.bump(cluster.owner, second, { max_fee_per_gas: 1, max_priority_fee_per_gas: 1 }),
    );
    const lowHere = await failsWith(
      sender.transactions.requests.bump(cluster.owner, second, { max_fee_per_gas: 1, max_priority_fee_per_gas: 1 }),
    );
    expect(low).toEqual(lowHere);
    expect(low.code).toBe("replacement_underpriced");
    await cluster.anvil.request("evm_mine");
    expect((await other.until(id, isMined)).state).toBe("cancelled");
    await other.until(second, isMined);
    expect(await failsWith(requests.cancel(cluster.owner, second))).toEqual({
      code: "transaction_settled",
      message: "the transaction is mined, or has ended",
    });
    expect((await failsWith(requests.cancel(cluster.owner, accountId))).code).toBe("not_found");
    await eventually(() => {
      expect(sender.store.count([WISH_TABLE])).toBe(0);
    });
  });

  it("has bytes that a caller signed sent, once for a nonce", async () => {
    const [, other] = await sendingAndOther();
    const signer = privateKeyToAccount(ANVIL_KEYS[2]);
    const { requests } = other.transactions;
    const broadcast = async (value: bigint, more: object = {}) =>
      await requests.broadcast(cluster.owner, {
        network_id: cluster.networkId,
        raw_transaction: await signer.signTransaction({
          ...{ type: "eip1559", chainId: cluster.anvil.chainId, nonce: 0, to: RECEIVER, value, gas: 21_000n },
          ...{ maxFeePerGas: 5_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n, ...more },
        }),
      });
    const made = await broadcast(7n);
    expect(made).toMatchObject({ signer: signer.address, to: RECEIVER, value: 7, nonce: 0 });
    expect((await failsWith(broadcast(8n))).code).toBe("nonce_in_use");
    expect((await failsWith(broadcast(8n, { chainId: 1, nonce: 1 }))).code).toBe("transaction_invalid");
    expect((await failsWith(broadcast(10n ** 30n, { nonce: 1 }))).code).toBe("insufficient_funds");
    await other.until(made.id, isMined);
    expect(await minedNonces(cluster.anvil, signer.address)).toHaveLength(1);
  });

  it("deletes the transactions of an owner, of which the one that sends keeps nothing", async () => {
    const [sender, other] = await sendingAndOther();
    const { id: accountId } = await cluster.account(other);
    await cluster.anvil.request("evm_setAutomine", false);
    const ids = await submit(other, accountId, 3);
    for (const id of ids) await other.until(id, isSent);
    expect(sender.transactions.openCount()).toBe(3);
    await other.transactions.purge(cluster.owner);
    await eventually(() => {
      expect(sender.transactions.openCount()).toBe(0);
    });
    expect(other.transactions.service.list(cluster.owner, {}, { page: 1, rpp: 10 }).total).toBe(0);
  });
});

describe("the next node that sends", () => {
  it("goes on at once when the one before leaves", async () => {
    const [sender, other] = await sendingAndOther();
    const account = await cluster.account(other);
    await cluster.anvil.request("evm_setAutomine", false);
    const before = await submit(other, account.id, 5);
    for (const id of before) await other.until(id, isSent);
    await sender.leave();
    const after = await submit(other, account.id, 5);
    await eventually(() => {
      expect(other.nodes.has("chain")).toBe(true);
    });
    await cluster.anvil.request("evm_setAutomine", true);
    await cluster.anvil.request("evm_mine");
    for (const id of [...before, ...after]) await other.until(id, isMined);
    expect((await minedNonces(cluster.anvil, account.address)).map(({ nonce }) => nonce)).toEqual(upTo(10));
  });

  it("sends no transaction twice after the one before was killed between a send and its record", async () => {
    const child = await cluster.spawn({ killAtSend: 7 });
    const killed = once(child, "exit");
    const [node, other] = [await cluster.join(), await cluster.join()];
    const account = await cluster.account(node);
    await other.store.confirm();
    const ids = [...(await submit(node, account.id, 10)), ...(await submit(other, account.id, 10))];
    node.take();
    other.take();
    await killed;
    ids.push(...(await submit(node, account.id, 5)));
    for (const id of ids) await node.until(id, isMined);
    expect([node, other].filter(({ nodes }) => nodes.has("chain"))).toHaveLength(1);
    expect((await minedNonces(cluster.anvil, account.address)).map(({ nonce }) => nonce)).toEqual(upTo(25));
  });

  it("is not disturbed by the one before, which was stopped and goes on", async () => {
    const child = await cluster.spawn();
    const node = await cluster.join();
    const account = await cluster.account(node);
    await cluster.anvil.request("evm_setAutomine", false);
    const before = await submit(node, account.id, 5);
    for (const id of before) await node.until(id, isSent);
    child.kill("SIGSTOP");
    const during = await submit(node, account.id, 5);
    node.take();
    await eventually(() => {
      expect(node.nodes.has("chain")).toBe(true);
    });
    child.kill("SIGCONT");
    const after = await submit(node, account.id, 5);
    await cluster.anvil.request("evm_setAutomine", true);
    await cluster.anvil.request("evm_mine");
    for (const id of [...before, ...during, ...after]) await node.until(id, isMined);
    expect((await minedNonces(cluster.anvil, account.address)).map(({ nonce }) => nonce)).toEqual(upTo(15));
  });
});

describe("a node whose vault is sealed", () => {
  const isHeldBy = async (node: ChainNode): Promise<void> => {
    await eventually(() => {
      expect(node.nodes.has("chain")).toBe(true);
    });
  };

  it("leaves the sending to one that is unsealed, with what is open, and takes it again later", async () => {
    const [first, second] = await sendingAndOther();
    const { id: accountId, address } = await cluster.account(first);
    await second.store.confirm();
    await cluster.anvil.request("evm_setAutomine", false);
    const [sent = ""] = await submit(first, accountId, 1);
    await first.until(sent, isSent);
    await first.seal();
    const waiting = await submit(second, accountId, 3);
    await isHeldBy(second);
    expect(first.nodes.has("chain")).toBe(false);
    for (const id of waiting) await second.until(id, isSent);
    // Asked of the node that has left the sending: the other does it.
    const { attempts } = await first.transactions.requests.bump(cluster.owner, sent, {});
    expect(attempts.map(({ kind }) => kind)).toEqual(["first", "bump"]);
    await cluster.anvil.request("evm_mine");
    for (const id of [sent, ...waiting]) await first.until(id, isMined);

    await first.unseal();
    await second.seal();
    await isHeldBy(first);
    const [last = ""] = await submit(second, accountId, 1);
    await second.until(last, isSent);
    await cluster.anvil.request("evm_setAutomine", true);
    await cluster.anvil.request("evm_mine");
    await second.until(last, isMined);
    expect((await minedNonces(cluster.anvil, address)).map(({ nonce }) => nonce)).toEqual(upTo(5));
  });

  it("keeps the sending while no node is unsealed, so that what was sent is followed", async () => {
    const [first, second] = await sendingAndOther();
    const { id: accountId } = await cluster.account(first);
    await cluster.anvil.request("evm_setAutomine", false);
    const [sent = ""] = await submit(first, accountId, 1);
    await first.until(sent, isSent);
    await second.seal();
    await eventually(() => {
      expect(first.nodes.members().map(({ seal }) => seal)).toContain("fault_sealed");
    });
    await first.seal();
    await cluster.anvil.request("evm_mine");
    await second.until(sent, isMined);
    expect([first.nodes.has("chain"), second.nodes.has("chain")]).toEqual([true, false]);
  });
});
