// Nonces, broadcast and inclusion against a real node.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failsWith, minedNonces, openBench, RECEIVER, type Bench } from "./support.js";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(async () => {
  await bench.close();
});

const transfer = (accountId: string, more: object = {}) => ({
  networkId: bench.networkId,
  signer: { accountId },
  to: RECEIVER,
  value: 1n,
  ...more,
});

describe("many transactions of one account", () => {
  it("brings 500 that come at once to the chain, each once, with no gap and no double", async () => {
    const account = await bench.account();
    const submitted = await Promise.all(
      Array.from(
        { length: 500 },
        async () => await bench.transactions.service.submit(bench.owner, transfer(account.id)),
      ),
    );
    const ended = [];
    for (const { id } of submitted) ended.push(await bench.until(id, ({ state }) => state === "confirmed"));
    const mined = await minedNonces(bench.anvil, account.address);
    expect(mined.map(({ nonce }) => nonce).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 500 }, (_, nonce) => nonce),
    );
    expect(new Set(mined.map(({ hash }) => hash))).toEqual(new Set(ended.map(({ hash }) => hash)));
    expect(new Set(ended.map(({ nonce }) => nonce)).size).toBe(500);
  });
});

describe("one transaction", () => {
  it("shows its way from creation to confirmation", async () => {
    const account = await bench.account();
    const created = await bench.transactions.service.create(bench.owner, {
      ...transfer(account.id),
      ref: "invoice-1",
      description: "rent",
    });
    expect(created).toMatchObject({
      state: "created",
      status: "pending",
      nonce: null,
      hash: null,
      gas: "21000",
      value: 1,
      from: account.address,
      user_id: bench.owner.id,
      account_id: account.id,
    });
    const ended = await bench.until(created.id, ({ state }) => state === "confirmed");
    expect(ended).toMatchObject({
      status: "success",
      nonce: 0,
      gas_used: "21000",
      ref: "invoice-1",
      error: null,
      attempts: [{ kind: "first", hash: ended.hash }],
    });
    expect(bench.transactions.service.get(bench.owner, "invoice-1").id).toBe(created.id);
    const receipt = (await bench.anvil.request("eth_getTransactionReceipt", ended.hash)) as {
      blockNumber: string;
      blockHash: string;
    };
    expect([ended.block, ended.block_hash]).toEqual([Number(receipt.blockNumber), receipt.blockHash]);
  });

  it("refuses a second one with the same ref", async () => {
    const account = await bench.account();
    await bench.transactions.service.submit(bench.owner, { ...transfer(account.id), ref: "twice" });
    expect(
      (await failsWith(bench.transactions.service.submit(bench.owner, { ...transfer(account.id), ref: "twice" }))).code,
    ).toBe("ref_taken");
  });
});

describe("what a contract answers", () => {
  it("tells a revert with its reason before anything is stored", async () => {
    const account = await bench.account();
    const to = await deployReverting(account.id);
    const before = bench.transactions.service.list(bench.owner, {}, { page: 1, rpp: 1 }).total;
    expect(
      await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id, { to, value: 0n }))),
    ).toEqual({ code: "execution_reverted", message: "the transaction would revert: closed today" });
    expect(bench.transactions.service.list(bench.owner, {}, { page: 1, rpp: 1 }).total).toBe(before);
  });

  it("tells the reason of one that reverts in a block", async () => {
    const account = await bench.account();
    const to = await deployReverting(account.id);
    const { id } = await bench.transactions.service.submit(
      bench.owner,
      transfer(account.id, { to, value: 0n, gas: 100_000n }),
    );
    const failed = await bench.until(id, ({ confirmed_at: at }) => at !== null);
    expect(failed).toMatchObject({
      state: "failed",
      status: "failed",
      error: { code: "execution_reverted", message: "the transaction reverted: closed today" },
    });
    expect(failed.block).not.toBeNull();
  });

  it("tells that the gas was not enough", async () => {
    const account = await bench.account();
    // A loop without an end: JUMPDEST PUSH1 0 JUMP.
    const { id: created } = await bench.transactions.service.submit(bench.owner, {
      networkId: bench.networkId,
      signer: { accountId: account.id },
      data: initCode("5b600056"),
    });
    const to = (await bench.until(created, ({ state }) => state === "confirmed")).contract_address!;
    const { id } = await bench.transactions.service.submit(
      bench.owner,
      transfer(account.id, { to, value: 0n, gas: 50_000n }),
    );
    expect(await bench.until(id, ({ state }) => state === "failed")).toMatchObject({
      error: { code: "out_of_gas" },
      gas_used: "50000",
    });
  });

  it("creates contracts, and tells their address to whoever listens, in the same commit", async () => {
    const account = await bench.account();
    const told: unknown[] = [];
    bench.transactions.service.onSettled((settlement) => {
      told.push(settlement);
      return { puts: [{ key: ["listener", settlement.transactionId], value: settlement.contractAddress ?? null }] };
    });
    const { id } = await bench.transactions.service.submit(bench.owner, {
      networkId: bench.networkId,
      signer: { accountId: account.id },
      data: initCode("00"),
      contractId: CONTRACT_ID,
    });
    const ended = await bench.until(id, ({ state }) => state === "confirmed");
    expect(told).toEqual([
      {
        owner: bench.owner,
        transactionId: id,
        networkId: bench.networkId,
        contractId: CONTRACT_ID,
        outcome: "success",
        contractAddress: ended.contract_address,
        blockNumber: ended.block,
        reason: undefined,
      },
    ]);
    expect(bench.vault.store.get(["listener", id])?.value).toBe(ended.contract_address);
    expect(await bench.anvil.request("eth_getCode", ended.contract_address, "latest")).toBe("0x00");
    const of = (contract: string): string[] =>
      bench.transactions.service
        .list(bench.owner, { contract_id: contract }, { page: 1, rpp: 10 })
        .body.map((transaction) => transaction.id);
    expect([of(CONTRACT_ID), of(id)]).toEqual([[id], []]);
  });
});

describe("money and fees", () => {
  it("refuses at once what the account cannot pay", async () => {
    const poor = await bench.transactions.accounts.create(bench.owner, { network_id: bench.networkId });
    expect((await failsWith(bench.transactions.service.submit(bench.owner, transfer(poor.id)))).code).toBe(
      "insufficient_funds",
    );
  });

  it("ends one that cannot be paid at broadcast, and gives its nonce to the next", async () => {
    const account = await bench.account();
    const service = bench.transactions.service;
    const [first, dear, last] = await Promise.all([
      service.submit(bench.owner, transfer(account.id, { gas: 21_000n })),
      service.submit(bench.owner, transfer(account.id, { gas: 21_000n, value: 10n ** 24n })),
      service.submit(bench.owner, transfer(account.id, { gas: 21_000n })),
    ]);
    expect((await bench.until(dear.id, ({ status }) => status !== "pending")).error?.code).toBe("insufficient_funds");
    const ended = [
      await bench.until(first.id, ({ state }) => state === "confirmed"),
      await bench.until(last.id, ({ state }) => state === "confirmed"),
    ];
    expect(ended.map(({ nonce }) => nonce)).toContain(0);
    const next = await service.submit(bench.owner, transfer(account.id));
    await bench.until(next.id, ({ state }) => state === "confirmed");
    const nonces = (await minedNonces(bench.anvil, account.address)).map(({ nonce }) => nonce).sort((a, b) => a - b);
    expect(nonces).toEqual(nonces.map((_, at) => at));
    expect(nonces.length).toBeGreaterThanOrEqual(3);
  });

  it("signs type 0 for a gas price, and keeps to the caps of the network", async () => {
    const account = await bench.account();
    const service = bench.transactions.service;
    const { id } = await service.submit(bench.owner, transfer(account.id, { gasPrice: 3_000_000_000n }));
    const ended = await bench.until(id, ({ state }) => state === "confirmed");
    expect(ended).toMatchObject({ gas_price: "3000000000", max_fee_per_gas: null, effective_gas_price: "3000000000" });
    expect(await bench.anvil.request("eth_getTransactionByHash", ended.hash)).toMatchObject({ type: "0x0" });
    bench.network = { maxFeePerGas: 2_000_000_000n };
    expect(
      (await failsWith(service.submit(bench.owner, transfer(account.id, { gasPrice: 3_000_000_000n })))).code,
    ).toBe("fee_cap_exceeded");
    const capped = await service.submit(bench.owner, transfer(account.id));
    expect(
      Number((await bench.until(capped.id, ({ state }) => state === "confirmed")).max_fee_per_gas),
    ).toBeLessThanOrEqual(2_000_000_000);
    bench.network = {};
  });
});

describe("nonces that others use", () => {
  it("goes on above a transaction that somebody else sent with the same key", async () => {
    const account = await bench.account();
    const service = bench.transactions.service;
    await bench.until(
      (await service.submit(bench.owner, transfer(account.id))).id,
      ({ state }) => state === "confirmed",
    );
    await bench.anvil.request("anvil_impersonateAccount", account.address);
    await bench.anvil.request("eth_sendTransaction", { from: account.address, to: RECEIVER, value: "0x1" });
    const ended = [];
    for (const { id } of await Promise.all(
      [1, 2, 3].map(async () => await service.submit(bench.owner, transfer(account.id))),
    ))
      ended.push(await bench.until(id, ({ state }) => state === "confirmed"));
    expect(ended.map(({ nonce }) => nonce).sort()).toEqual([2, 3, 4]);
  });

  it("gives another nonce to one that every node refused because its nonce was taken in between", async () => {
    const account = await bench.account();
    const service = bench.transactions.service;
    await bench.anvil.request("anvil_impersonateAccount", account.address);
    await bench.anvil.request("eth_sendTransaction", { from: account.address, to: RECEIVER, value: "0x1" });
    // What the node would have said before the other transaction.
    let lies = 1;
    bench.rpc.spoil = (method, params) =>
      method === "eth_getTransactionCount" && params[1] === "pending" && lies-- > 0 ? { answer: "0x0" } : undefined;
    const ended = await bench.until(
      (await service.submit(bench.owner, transfer(account.id))).id,
      ({ state }) => state === "confirmed",
    );
    bench.rpc.spoil = () => undefined;
    expect(ended).toMatchObject({ nonce: 1, state: "confirmed" });
    expect(ended.attempts).toHaveLength(1);
  });

  it("gives another nonce also to one that waited while the server was restarted", async () => {
    const account = await bench.account();
    const isCount = (method: string, params: readonly unknown[]): boolean =>
      method === "eth_getTransactionCount" && params[1] === "pending";
    bench.rpc.spoil = (method, params) => (isCount(method, params) ? "lost" : undefined);
    const { id } = await bench.transactions.service.submit(bench.owner, transfer(account.id));
    await bench.restart();
    await bench.anvil.request("anvil_impersonateAccount", account.address);
    await bench.anvil.request("eth_sendTransaction", { from: account.address, to: RECEIVER, value: "0x1" });
    let lies = 1;
    bench.rpc.spoil = (method, params) => (isCount(method, params) && lies-- > 0 ? { answer: "0x0" } : undefined);
    const ended = await bench.until(id, ({ status }) => status !== "pending");
    bench.rpc.spoil = () => undefined;
    expect(ended).toMatchObject({ nonce: 1, status: "success" });
  });

  it("names a recipient whose checksum is wrong", async () => {
    const account = await bench.account();
    const to = "0x70997970c51812dc3A010C7d01b50e0d17dc79C8";
    expect(await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id, { to })))).toEqual({
      code: "invalid_request",
      message: "`to` is an address in mixed case whose checksum (EIP-55) is wrong",
    });
  });

  it("refuses a requested nonce that was used, or that would have empty transactions fill a wide gap", async () => {
    const account = await bench.account();
    const { service } = bench.transactions;
    await bench.until(
      (await service.submit(bench.owner, transfer(account.id))).id,
      ({ state }) => state === "confirmed",
    );
    expect((await failsWith(service.submit(bench.owner, transfer(account.id, { nonce: 0 })))).code).toBe(
      "nonce_in_use",
    );
    for (const nonce of [66, 9_999, Number.MAX_SAFE_INTEGER])
      expect((await failsWith(service.submit(bench.owner, transfer(account.id, { nonce })))).code, String(nonce)).toBe(
        "invalid_request",
      );
    expect(service.list(bench.owner, { account_id: account.id }, { page: 1, rpp: 10 }).total).toBe(1);
  });

  it("refuses gas beyond what a transaction can say", async () => {
    const account = await bench.account();
    expect(
      (await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id, { gas: 2n ** 64n })))).code,
    ).toBe("invalid_request");
  });

  it("refuses a requested nonce that an open transaction holds", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const { id } = await bench.transactions.service.submit(bench.owner, transfer(account.id));
    await bench.until(id, ({ state }) => state === "sent");
    expect(
      (await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id, { nonce: 0 })))).code,
    ).toBe("nonce_in_use");
    await bench.anvil.request("evm_setAutomine", true);
    await bench.anvil.request("evm_mine");
    await bench.until(id, ({ state }) => state === "confirmed");
  });
});

const CONTRACT_ID = "5f8b7a52-9d1c-4f1e-9df0-6f9b1d2c3e4a";

/** Init code that returns this code, of at most 32 bytes. */
function initCode(code: string): string {
  const bytes = code.length / 2;
  return `0x7f${code.padEnd(64, "0")}60005260${bytes.toString(16).padStart(2, "0")}6000f3`;
}

/** A contract that answers every call with Error("closed today"). */
async function deployReverting(accountId: string): Promise<string> {
  const text = Buffer.from("closed today").toString("hex").padEnd(64, "0");
  const word = (number: number): string => number.toString(16).padStart(64, "0");
  // mstore the four parts of the ABI encoding, then revert with them.
  const code = `7f${"08c379a0".padEnd(64, "0")}6000527f${word(32)}6004527f${word(12)}6024527f${text}60445260646000fd`;
  const length = (code.length / 2).toString(16).padStart(4, "0");
  // PUSH2 length, PUSH1 14, PUSH1 0, CODECOPY; PUSH2 length, PUSH1 0, RETURN: 14 bytes before the code.
  const init = `61${length}600e60003961${length}6000f3`;
  const { id } = await bench.transactions.service.submit(bench.owner, {
    networkId: bench.networkId,
    signer: { accountId },
    data: `0x${init}${code}`,
  });
  return (await bench.until(id, ({ state }) => state === "confirmed")).contract_address!;
}
