// Refusals of a node that has the bytes all the same, or may have them: no transaction is called failed that is mined.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { TransactionRepository } from "../../../src/chain/transactions/transaction-repository.js";
import { minedNonces, openBench, RECEIVER, type Bench } from "./support.js";

const CONFIRMATIONS = 4;
let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ confirmations: CONFIRMATIONS });
});
afterAll(async () => {
  await bench.close();
});
afterEach(async () => {
  bench.rpc.spoil = () => undefined;
  await bench.anvil.request("evm_setAutomine", true);
});

const submit = async (accountId: string, more: object = {}): Promise<string> => {
  const request = { networkId: bench.networkId, signer: { accountId }, to: RECEIVER, value: 1n, ...more };
  return (await bench.transactions.service.submit(bench.owner, request)).id;
};
const mine = async (blocks: number): Promise<void> => {
  await bench.anvil.request("anvil_mine", `0x${blocks.toString(16)}`);
};
const isMined = ({ block }: { readonly block: number | null }): boolean => block !== null;

async function expectEachOnce(address: string, count: number): Promise<void> {
  const nonces = (await minedNonces(bench.anvil, address)).map(({ nonce }) => nonce);
  expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, nonce) => nonce));
}

describe("refusals that are not final", () => {
  const SAYINGS: readonly [string, number][] = [
    ["Internal error", -32_603],
    ["internal error", -32_000],
    ["Internal Server Error", -32_000],
    ["upstream request failed", -32_099],
    ["", 0],
  ];
  const isSend = (method: string): boolean => method === "eth_sendRawTransaction";
  const isLookUp = (method: string): boolean =>
    method === "eth_getTransactionByHash" || method === "eth_getTransactionReceipt";

  it.each(SAYINGS)("of bytes that the node took all the same: %j (%i)", async (words, code) => {
    const account = await bench.account();
    const seen = new Set<string>();
    bench.rpc.spoil = (method) => (isSend(method) ? { refusalOfTaken: new RpcRefusal(words, code) } : undefined);
    const id = await submit(account.id);
    const mined = await bench.until(id, ({ state, block }) => {
      seen.add(state);
      return block !== null;
    });
    expect(mined).toMatchObject({ status: "success", error: null, nonce: 0 });
    expect([...seen]).not.toContain("failed");
    expect(mined.attempts).toHaveLength(1);
    await expectEachOnce(account.address, 1);
  });

  it("of bytes that the node did not take: the reason stands in the record, and the same bytes are sent again", async () => {
    const account = await bench.account();
    let refusals = 2;
    bench.rpc.spoil = (method) =>
      isSend(method) && refusals-- > 0 ? { refusal: new RpcRefusal("Internal error", -32_603) } : undefined;
    const id = await submit(account.id);
    const held = await bench.until(id, ({ error }) => error !== null);
    expect(held).toMatchObject({
      state: "signed",
      status: "pending",
      nonce: 0,
      attempts: [{ kind: "first" }],
      error: { code: "transaction_refused", message: expect.stringMatching(/: Internal error$/) as string },
    });
    expect(await bench.until(id, isMined)).toMatchObject({
      hash: held.hash,
      error: null,
      attempts: [{ kind: "first" }],
    });
    await expectEachOnce(account.address, 1);
  });

  it("for ever: the transaction stays open, later ones wait behind it, and a cancellation ends it", async () => {
    const account = await bench.account();
    let poison: unknown;
    bench.rpc.spoil = (method, [raw]) => {
      if (!isSend(method)) return undefined;
      poison ??= raw;
      return raw === poison ? { refusal: new RpcRefusal("policy 7 says no", -32_000) } : undefined;
    };
    const id = await submit(account.id);
    await bench.until(id, ({ error }) => error !== null);
    const later = await submit(account.id);
    await bench.until(later, ({ state }) => state === "sent");
    await bench.restart();
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject({ state: "signed", nonce: 0 });
    await bench.transactions.replacements.cancel(bench.owner, id);
    expect(await bench.until(id, isMined)).toMatchObject({ state: "cancelled", nonce: 0 });
    expect(await bench.until(later, isMined)).toMatchObject({ nonce: 1, status: "success" });
    await expectEachOnce(account.address, 2);
  });

  it.each(["exceeds block gas limit", "insufficient funds for gas * price + value"])(
    "because a node may have the bytes since an answer was lost: %s",
    async (words) => {
      const account = await bench.account();
      const answers: ("answer lost" | { refusal: RpcRefusal })[] = ["answer lost"];
      await bench.anvil.request("evm_setAutomine", false);
      bench.rpc.spoil = (method) => {
        if (isSend(method)) return answers.shift() ?? { refusal: new RpcRefusal(words, -32_000) };
        return isLookUp(method) ? { answer: null } : undefined;
      };
      const id = await submit(account.id);
      expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject({ state: "signed", nonce: 0 });
      bench.rpc.spoil = () => undefined;
      await bench.anvil.request("evm_setAutomine", true);
      await mine(1);
      expect(await bench.until(id, isMined)).toMatchObject({ status: "success", error: null });
      await expectEachOnce(account.address, 1);
    },
  );

  it("of a nonce that our own bytes have used, while the node's index lags: nothing is executed twice", async () => {
    const account = await bench.account();
    let lookUps = 4;
    bench.rpc.spoil = (method) => {
      if (isSend(method)) return { refusalOfTaken: new RpcRefusal("nonce too low", -32_000) };
      return isLookUp(method) && lookUps-- > 0 ? { answer: null } : undefined;
    };
    const id = await submit(account.id);
    expect(await bench.until(id, isMined)).toMatchObject({ nonce: 0, status: "success" });
    await expectEachOnce(account.address, 1);
  });
});

describe("a transaction that was refused for good", () => {
  const REFUSED = new RpcRefusal("exceeds block gas limit", -32_000);

  const isLookedFor = (id: string): boolean =>
    new TransactionRepository({ store: bench.vault.store })
      .unsettled({ limit: 1_000 })
      .rows.some((record) => record.id === id);

  /** Submits one that the node refuses with final words although it took it, and denies; returns it failed. */
  const failFalsely = async (accountId: string): Promise<string> => {
    await bench.anvil.request("evm_setAutomine", false);
    bench.rpc.spoil = (method) => {
      if (method === "eth_sendRawTransaction") return { refusalOfTaken: REFUSED };
      return method === "eth_getTransactionByHash" ? { answer: null } : undefined;
    };
    const id = await submit(accountId);
    await bench.until(id, ({ state }) => state === "failed");
    bench.rpc.spoil = () => undefined;
    return id;
  };

  it("is followed all the same: when a block has it, so says the record, and whoever listens is told", async () => {
    const account = await bench.account();
    const id = await failFalsely(account.id);
    const told: string[] = [];
    bench.transactions.service.onSettled(({ transactionId, outcome }) => {
      if (transactionId === id) told.push(outcome);
      return {};
    });
    await mine(1);
    expect(await bench.until(id, isMined)).toMatchObject({ state: "mined", status: "success", error: null });
    await mine(CONFIRMATIONS);
    await bench.until(id, ({ state }) => state === "confirmed");
    expect(told).toEqual(["success"]);
    expect(bench.log.lines.some(({ message }) => message.includes("is in a block all the same"))).toBe(true);
    expect((await bench.until(await submit(account.id), ({ state }) => state === "sent")).nonce).toBe(1);
  });

  it("is followed across a restart, with another transaction of the account on its nonce", async () => {
    const account = await bench.account();
    const id = await failFalsely(account.id);
    const next = await submit(account.id);
    await bench.until(next, ({ state }) => state === "sent");
    await bench.restart();
    await bench.anvil.request("evm_setAutomine", true);
    await mine(CONFIRMATIONS);
    expect(await bench.until(id, isMined)).toMatchObject({ nonce: 0, status: "success" });
    expect(await bench.until(next, isMined)).toMatchObject({ nonce: 1, status: "success" });
    await expectEachOnce(account.address, 2);
  });

  it("is looked for no more once its nonce was used by another for good", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? { refusal: REFUSED } : undefined);
    const id = await submit(account.id);
    await bench.until(id, ({ state }) => state === "failed");
    bench.rpc.spoil = () => undefined;
    expect((await bench.until(await submit(account.id, { value: 2n }), isMined)).nonce).toBe(0);
    expect(isLookedFor(id)).toBe(true);
    await expect
      .poll(
        async () => {
          await mine(CONFIRMATIONS);
          return isLookedFor(id);
        },
        { interval: 100 },
      )
      .toBe(false);
    expect(bench.transactions.service.get(bench.owner, id)).toMatchObject({
      state: "failed",
      attempts: [{ kind: "first" }],
    });
  });

  it("stays failed when the same transfer is submitted again: the bytes are the same, and count once", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", true);
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? { refusal: REFUSED } : undefined);
    const id = await submit(account.id, { gasPrice: 10n ** 11n });
    const { hash } = await bench.until(id, ({ state }) => state === "failed");
    bench.rpc.spoil = () => undefined;
    const again = await bench.until(await submit(account.id, { gasPrice: 10n ** 11n }), isMined);
    expect(again.hash).toBe(hash);
    await expect.poll(() => isLookedFor(id), { interval: 50 }).toBe(false);
    expect(bench.transactions.service.get(bench.owner, id)).toMatchObject({ state: "failed", block: null });
  });
});
