// Nodes that are down, forget, reorganise or lie; crashes; bump and cancel. Nothing is sent twice, nothing is lost.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { failsWith, minedNonces, openBench, RECEIVER, type Bench } from "../../chain/transactions/support.js";

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
  bench.network = {};
  await bench.anvil.request("evm_setAutomine", true);
});

const transfer = (accountId: string, more: object = {}) => ({
  networkId: bench.networkId,
  signer: { accountId },
  to: RECEIVER,
  value: 1n,
  ...more,
});
const submit = async (accountId: string, more: object = {}): Promise<string> =>
  (await bench.transactions.service.submit(bench.owner, transfer(accountId, more))).id;
const mine = async (blocks: number): Promise<void> => {
  await bench.anvil.request("anvil_mine", `0x${blocks.toString(16)}`);
};
const isMined = ({ block }: { readonly block: number | null }): boolean => block !== null;

async function expectEachOnce(address: string, count: number): Promise<void> {
  const nonces = (await minedNonces(bench.anvil, address)).map(({ nonce }) => nonce);
  expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, nonce) => nonce));
}

describe("confirmations", () => {
  it("keeps a transaction mined until it has them", async () => {
    const account = await bench.account();
    const id = await submit(account.id);
    expect(await bench.until(id, isMined)).toMatchObject({ state: "mined", status: "success", confirmed_at: null });
    await mine(CONFIRMATIONS - 1);
    expect(await bench.until(id, ({ state }) => state === "confirmed")).toMatchObject({ status: "success" });
  });
});

describe("crashes", () => {
  it("sends the same bytes after a crash between storing and sending", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? "lost" : undefined);
    const ids = [await submit(account.id), await submit(account.id), await submit(account.id)];
    const signed = [];
    for (const id of ids) signed.push(await bench.until(id, ({ state }) => state === "signed"));
    await bench.restart();
    bench.rpc.spoil = () => undefined;
    for (const [at, id] of ids.entries()) {
      const mined = await bench.until(id, isMined);
      expect([mined.hash, mined.nonce, mined.attempts.length]).toEqual([signed[at]!.hash, signed[at]!.nonce, 1]);
    }
    await expectEachOnce(account.address, 3);
  });

  it("finds what a node took although its answer was lost, also after a crash", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? "answer lost" : undefined);
    const ids = [await submit(account.id), await submit(account.id)];
    for (const id of ids) await bench.until(id, ({ state }) => state !== "created");
    await bench.restart();
    bench.rpc.spoil = () => undefined;
    ids.push(await submit(account.id));
    for (const id of ids) await bench.until(id, isMined);
    await expectEachOnce(account.address, 3);
  });

  it("goes on with what waited for its nonce", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method, params) =>
      method === "eth_getTransactionCount" && params[1] === "pending" ? "lost" : undefined;
    const ids = [await submit(account.id), await submit(account.id)];
    await bench.restart();
    expect(ids.map((id) => bench.transactions.service.get(bench.owner, id).state)).toEqual(["created", "created"]);
    bench.rpc.spoil = () => undefined;
    for (const id of ids) await bench.until(id, isMined);
    await expectEachOnce(account.address, 2);
  });
});

describe("a node that is not well", () => {
  it("names a node that is down, and stores nothing", async () => {
    const account = await bench.account();
    bench.rpc.spoil = () => "lost";
    const { total } = bench.transactions.service.list(bench.owner, {}, { page: 1, rpp: 1 });
    expect((await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id)))).code).toBe(
      "network_unreachable",
    );
    expect(bench.transactions.service.list(bench.owner, {}, { page: 1, rpp: 1 }).total).toBe(total);
  });

  it("answers garbage: named, and nothing is concluded from it", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method) => (method === "eth_estimateGas" ? { answer: "a lot" } : undefined);
    expect((await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id)))).code).toBe(
      "network_answer_invalid",
    );
    bench.rpc.spoil = (method) =>
      method === "eth_getTransactionReceipt"
        ? { answer: { transactionHash: `0x${"ab".repeat(32)}`, status: "0x1" } }
        : undefined;
    const id = await submit(account.id);
    await bench.until(id, ({ state }) => state === "sent");
    await mine(1);
    expect(bench.transactions.service.get(bench.owner, id).state).toBe("sent");
    bench.rpc.spoil = () => undefined;
    await bench.until(id, isMined);
    await expectEachOnce(account.address, 1);
  });

  it("fails at a question: 502, whatever was asked for, and never the caller's fault", async () => {
    const account = await bench.account();
    const refusal = new RpcRefusal("Internal error", -32_603);
    const failing = (name: string): void => {
      bench.rpc.spoil = (method) => (method === name ? { refusal } : undefined);
    };
    for (const [method, more] of [
      ["eth_estimateGas", {}],
      ["eth_getBalance", {}],
      ["eth_getTransactionCount", { nonce: 0 }],
    ] as const) {
      failing(method);
      expect(
        await failsWith(bench.transactions.service.submit(bench.owner, transfer(account.id, more))),
        method,
      ).toEqual({ code: "network_answer_invalid", message: "the network's node failed: Internal error" });
    }
    bench.rpc.spoil = () => undefined;
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id);
    await bench.until(id, ({ state }) => state === "sent");
    failing("eth_getBlockByNumber");
    expect((await failsWith(bench.transactions.replacements.bump(bench.owner, id, {}))).code).toBe(
      "network_answer_invalid",
    );
    bench.rpc.spoil = () => undefined;
    await bench.anvil.request("evm_setAutomine", true);
    await mine(1);
    await bench.until(id, isMined);
  });

  it("estimates less than the transaction's form needs: not believed", async () => {
    const account = await bench.account();
    const create = async (gas: bigint, more: object = {}) => {
      bench.rpc.spoil = (method) => (method === "eth_estimateGas" ? { answer: `0x${gas.toString(16)}` } : undefined);
      return await bench.transactions.service.create(bench.owner, transfer(account.id, { value: 0n, ...more }));
    };
    const data = `0x${"7f".repeat(100)}`;
    expect((await failsWith(create(20_999n))).code).toBe("network_answer_invalid");
    expect((await failsWith(create(22_599n, { data }))).code).toBe("network_answer_invalid");
    // Above the intrinsic cost and, with its quarter more, above the floor of EIP-7623, 25,000.
    expect((await create(22_600n, { data })).gas).toBe("28250");
  });

  it("estimates more than a block takes, or nearly so: refused with both numbers, or cut to the block", async () => {
    const account = await bench.account();
    const { gasLimit } = (await bench.anvil.request("eth_getBlockByNumber", "latest", false)) as { gasLimit: string };
    const limit = BigInt(gasLimit);
    const answering = (gas: bigint): void => {
      bench.rpc.spoil = (method) => (method === "eth_estimateGas" ? { answer: `0x${gas.toString(16)}` } : undefined);
    };
    const request = transfer(account.id, { value: 0n, data: "0x01" });
    answering(limit + 1n);
    expect(await failsWith(bench.transactions.service.submit(bench.owner, request))).toEqual({
      code: "gas_estimate_failed",
      message: `the transaction needs ${String(limit + 1n)} gas by the node's estimate; a block takes ${String(limit)}`,
    });
    answering(limit - 1n);
    const made = await bench.transactions.service.create(bench.owner, request);
    expect(made.gas).toBe(String(limit));
  });

  it("is full for a while: the bytes are sent again", async () => {
    const account = await bench.account();
    let refusals = 2;
    bench.rpc.spoil = (method) =>
      method === "eth_sendRawTransaction" && refusals-- > 0
        ? { refusal: new RpcRefusal("txpool is full", -32000) }
        : undefined;
    const id = await submit(account.id);
    expect((await bench.until(id, isMined)).attempts).toHaveLength(1);
  });

  it("finds it too cheap: told why while it waits, also after a restart; sent once the fees are raised, and then nothing is left to tell", async () => {
    const account = await bench.account();
    await bench.anvil.request("anvil_setNextBlockBaseFeePerGas", "0x174876e800");
    const id = await submit(account.id, { maxFeePerGas: 7n, maxPriorityFeePerGas: 1n });
    const expected = {
      state: "signed",
      status: "pending",
      error: {
        code: "fee_too_low",
        message: expect.stringMatching(/^the node finds the fees too low; .*: .*base fee/) as string,
      },
    };
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject(expected);
    expect(
      bench.transactions.service.list(bench.owner, { account_id: account.id }, { page: 1, rpp: 1 }).body[0],
    ).toMatchObject(expected);
    await bench.restart();
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject(expected);
    expect(
      await bench.transactions.replacements.bump(bench.owner, id, { max_fee_per_gas: "1000000000000" }),
    ).toMatchObject({ state: "sent", error: null });
    expect(await bench.until(id, isMined)).toMatchObject({ status: "success", error: null });
    await expectEachOnce(account.address, 1);
  });

  it("finds it too cheap until its blocks get cheaper: the same bytes are sent then", async () => {
    const account = await bench.account();
    const refusal = new RpcRefusal("transaction underpriced", -32_000);
    bench.rpc.spoil = (method) => (method === "eth_sendRawTransaction" ? { refusal } : undefined);
    const id = await submit(account.id, { gasPrice: 10n ** 12n });
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject({
      state: "signed",
      error: { code: "fee_too_low" },
    });
    bench.rpc.spoil = () => undefined;
    const mined = await bench.until(id, isMined);
    expect([mined.error, mined.attempts.length]).toEqual([null, 1]);
  });

  it("holds another transaction with the requested nonce and asks for more: reported, and replaced by a bump", async () => {
    const account = await bench.account();
    const [refusal, first] = [new RpcRefusal("replacement transaction underpriced", -32_000), new Set<unknown>()];
    bench.rpc.spoil = (method, [raw]) => {
      if (method !== "eth_sendRawTransaction" || (first.size > 0 && !first.has(raw))) return undefined;
      first.add(raw);
      return { refusal };
    };
    const id = await submit(account.id, { nonce: 0 });
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject({
      state: "signed",
      error: { code: "replacement_underpriced" },
    });
    await bench.transactions.replacements.bump(bench.owner, id, {});
    expect((await bench.until(id, isMined)).error).toBeNull();
  });

  it("asks for more than the network's cap: told why nothing is signed, until the cap allows it", async () => {
    const account = await bench.account();
    bench.network = { maxFeePerGas: 1n };
    const id = await submit(account.id);
    expect(await bench.until(id, ({ error }) => error !== null)).toMatchObject({
      state: "created",
      error: { code: "fee_cap_exceeded", message: "the chain's base fee is above the network's cap on fees" },
    });
    bench.network = {};
    expect((await bench.until(id, isMined)).error).toBeNull();
  });

  it("refuses for good: told with its words, and the nonce goes to the next", async () => {
    const account = await bench.account();
    let refusals = 1;
    bench.rpc.spoil = (method) =>
      method === "eth_sendRawTransaction" && refusals-- > 0
        ? { refusal: new RpcRefusal("exceeds block gas limit", -32000) }
        : undefined;
    const id = await submit(account.id);
    expect(await bench.until(id, ({ state }) => state === "failed")).toMatchObject({
      error: { code: "transaction_refused", message: "the node refused the transaction: exceeds block gas limit" },
    });
    expect((await bench.until(await submit(account.id), isMined)).nonce).toBe(0);
  });

  it("loses its pool: what was sent is sent again, with the same bytes", async () => {
    // Nothing is mined for a while, which is no reason here to try other bytes.
    await bench.restart(600_000);
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const ids = [await submit(account.id), await submit(account.id), await submit(account.id)];
    const hashes = [];
    for (const id of ids) hashes.push((await bench.until(id, ({ state }) => state === "sent")).hash);
    await bench.anvil.request("anvil_dropAllTransactions");
    await bench.anvil.request("evm_setAutomine", true);
    for (const [at, id] of ids.entries()) expect((await bench.until(id, isMined)).hash).toBe(hashes[at]);
    await expectEachOnce(account.address, 3);
    await bench.restart();
  });

  it("forgets blocks (restarted from an earlier state): nonces go back with it, and what was not final is mined again", async () => {
    const account = await bench.account();
    const old = await bench.until(await submit(account.id), isMined);
    await mine(CONFIRMATIONS);
    await bench.until(old.id, ({ state }) => state === "confirmed");
    const snapshot = await bench.anvil.request("evm_snapshot");
    const ids = [await submit(account.id), await submit(account.id), await submit(account.id)];
    for (const id of ids) await bench.until(id, isMined);
    await bench.anvil.request("evm_revert", snapshot);
    expect(await bench.anvil.request("eth_getTransactionCount", account.address, "latest")).toBe("0x1");
    for (const id of ids) await bench.until(id, ({ state, block }) => state !== "sent" && block !== null);
    await expectUntil(
      async () => Number(await bench.anvil.request("eth_getTransactionCount", account.address, "latest")),
      4,
    );
    expect((await bench.until(await submit(account.id), isMined)).nonce).toBe(4);
    await expectEachOnce(account.address, 5);
  });

  it("forgets what was final: the counter goes back to what the chain says, and does not stay above it", async () => {
    const account = await bench.account();
    const snapshot = await bench.anvil.request("evm_snapshot");
    const ids = [await submit(account.id), await submit(account.id)];
    for (const id of ids) await bench.until(id, isMined);
    await mine(CONFIRMATIONS);
    for (const id of ids) await bench.until(id, ({ state }) => state === "confirmed");
    await bench.anvil.request("evm_revert", snapshot);
    expect((await bench.until(await submit(account.id, { value: 2n }), isMined)).nonce).toBe(0);
    expect(bench.log.lines.some(({ message }) => message.startsWith("a node forgot"))).toBe(true);
  });

  it("reorganises: a transaction that fell out of the chain is on its way again until it is mined anew", async () => {
    const account = await bench.account();
    const id = await submit(account.id);
    const first = await bench.until(id, isMined);
    await bench.anvil
      .request("anvil_reorg", { depth: 1, tx_block_pairs: [] })
      .catch(async () => await bench.anvil.request("anvil_reorg", 1, []));
    const again = await bench.until(id, ({ block_hash: hash }) => hash !== null && hash !== first.block_hash);
    expect([again.hash, again.nonce]).toEqual([first.hash, 0]);
    const receipt = (await bench.anvil.request("eth_getTransactionReceipt", again.hash)) as { blockHash: string };
    expect(again.block_hash).toBe(receipt.blockHash);
  });

  it("keeps a transaction that it never counts: other bytes for the nonce set the account free, once", async () => {
    const account = await bench.account();
    let kept: unknown;
    bench.rpc.spoil = (method, [raw]) => {
      if (method !== "eth_sendRawTransaction") return undefined;
      kept ??= raw;
      return raw === kept ? { refusal: new RpcRefusal("transaction already imported", -32_000) } : undefined;
    };
    const ids = [await submit(account.id), await submit(account.id)];
    const [first, second] = [await bench.until(ids[0]!, isMined), await bench.until(ids[1]!, isMined)];
    expect(first.attempts.map(({ kind }) => kind)).toEqual(["first", "bump"]);
    expect([first.nonce, second.nonce, second.attempts.length]).toEqual([0, 1, 1]);
    await expectEachOnce(account.address, 2);
  });

  it("fills a gap that nothing else will fill", async () => {
    const account = await bench.account();
    const id = await submit(account.id, { nonce: 1 });
    const mined = await bench.until(id, isMined);
    expect(mined.nonce).toBe(1);
    await expectEachOnce(account.address, 2);
    expect(
      bench.transactions.service
        .list(bench.owner, { account_id: account.id }, { page: 1, rpp: 10 })
        .body.map(({ description }) => description),
    ).toContain("fills a gap in the account's nonces");
  });
});

describe("replacing", () => {
  it("raises the fees under the same nonce; only one of both is mined", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id);
    const sent = await bench.until(id, ({ state }) => state === "sent");
    const bumped = await bench.transactions.replacements.bump(bench.owner, id, {});
    expect(bumped.attempts.map(({ kind }) => kind)).toEqual(["first", "bump"]);
    expect(BigInt(bumped.max_fee_per_gas!) * 8n).toBeGreaterThan(BigInt(sent.max_fee_per_gas!) * 9n);
    await mine(1);
    const mined = await bench.until(id, isMined);
    expect([mined.hash, mined.nonce, mined.state]).toEqual([bumped.hash, sent.nonce, "mined"]);
    expect((await failsWith(bench.transactions.replacements.bump(bench.owner, id, {}))).code).toBe(
      "transaction_settled",
    );
    await expectEachOnce(account.address, 1);
  });

  it("asks for the fees anew, right after the base fee has jumped", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id);
    await bench.until(id, ({ state }) => state === "sent");
    const baseFee = 10n ** 12n;
    bench.rpc.spoil = (method) =>
      method === "eth_getBlockByNumber"
        ? {
            answer: {
              number: "0x1",
              hash: `0x${"ab".repeat(32)}`,
              timestamp: "0x1",
              baseFeePerGas: `0x${baseFee.toString(16)}`,
            },
          }
        : undefined;
    const bumped = await bench.transactions.replacements.bump(bench.owner, id, {});
    bench.rpc.spoil = () => undefined;
    expect(BigInt(bumped.max_fee_per_gas!)).toBeGreaterThanOrEqual(2n * baseFee);
    await mine(1);
    expect((await bench.until(id, isMined)).hash).toBe(bumped.hash);
  });

  it("never pays more than was requested: too low a fee is refused, one that is enough is paid", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id);
    const sent = await bench.until(id, ({ state }) => state === "sent");
    const bump = async (requested: Parameters<typeof bench.transactions.replacements.bump>[2]) =>
      bench.transactions.replacements.bump(bench.owner, id, requested);
    expect((await failsWith(bump({ max_fee_per_gas: 1 }))).code).toBe("replacement_underpriced");
    expect((await failsWith(bump({ max_priority_fee_per_gas: 0 }))).code).toBe("replacement_underpriced");
    expect((await failsWith(bump({ gas_price: "999999999999" }))).code).toBe("invalid_request");
    expect((await failsWith(bump({ max_fee_per_gas: 5, max_priority_fee_per_gas: 6 }))).code).toBe("invalid_request");
    const enough = String((BigInt(sent.max_fee_per_gas!) * 5n) / 4n);
    expect((await bump({ max_fee_per_gas: enough })).max_fee_per_gas).toBe(enough);
    await mine(1);
    expect((await bench.until(id, isMined)).attempts).toHaveLength(2);
  });

  it("cancels with an empty transaction, and tells those who wait", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id, { value: 10n ** 18n });
    await bench.until(id, ({ state }) => state === "sent");
    expect(await bench.transactions.replacements.cancel(bench.owner, id)).toMatchObject({
      state: "sent",
      attempts: [{ kind: "first" }, { kind: "cancel" }],
    });
    expect((await failsWith(bench.transactions.replacements.bump(bench.owner, id, {}))).code).toBe(
      "transaction_not_replaceable",
    );
    await mine(1);
    expect(await bench.until(id, isMined)).toMatchObject({ state: "cancelled", status: "failed" });
    expect(BigInt((await bench.anvil.request("eth_getBalance", account.address, "latest")) as string)).toBeGreaterThan(
      9n * 10n ** 18n,
    );
  });

  it("cancels at once what was not signed, and never signs it", async () => {
    const account = await bench.account();
    bench.rpc.spoil = (method, params) =>
      method === "eth_getTransactionCount" && params[1] === "pending" ? "lost" : undefined;
    const id = await submit(account.id);
    expect(await bench.transactions.replacements.cancel(bench.owner, id)).toMatchObject({
      state: "cancelled",
      nonce: null,
      attempts: [],
    });
    bench.rpc.spoil = () => undefined;
    expect((await bench.until(await submit(account.id), isMined)).nonce).toBe(0);
    await expectEachOnce(account.address, 1);
  });

  it("is executed once when its fees are raised while it looks for another nonce", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    let refused: unknown;
    bench.rpc.spoil = (method, [raw]) => {
      if (method !== "eth_sendRawTransaction") return undefined;
      refused ??= raw;
      return raw === refused ? { refusal: new RpcRefusal("replacement transaction underpriced", -32_000) } : undefined;
    };
    // The second question for the account's count is the one for another nonce: its answer is held back.
    const [asked, held] = [gate(), gate()];
    let counts = 0;
    const request = bench.rpc.request.bind(bench.rpc);
    bench.rpc.request = async (method, params) => {
      if (method === "eth_getTransactionCount" && params.join(" ") === `${account.address} pending` && ++counts === 2) {
        asked.open();
        await held.passed;
      }
      return await request(method, params);
    };
    try {
      const id = await submit(account.id);
      await asked.passed;
      const bumped = await bench.transactions.replacements.bump(bench.owner, id, {});
      held.open();
      await bench.until(await submit(account.id), ({ state }) => state === "sent");
      await mine(1);
      expect(await bench.until(id, isMined)).toMatchObject({ nonce: 0, hash: bumped.hash, status: "success" });
      await expectEachOnce(account.address, 2);
    } finally {
      bench.rpc.request = request;
    }
  });

  it("tells that another transaction with the nonce was mined", async () => {
    const account = await bench.account();
    await bench.anvil.request("evm_setAutomine", false);
    const id = await submit(account.id);
    const { hash } = await bench.until(id, ({ state }) => state === "sent");
    await bench.anvil.request("anvil_dropTransaction", hash);
    await bench.anvil.request("anvil_impersonateAccount", account.address);
    await bench.anvil.request("eth_sendTransaction", {
      from: account.address,
      to: RECEIVER,
      value: "0x5",
      nonce: "0x0",
    });
    await mine(1);
    expect(await bench.until(id, ({ status }) => status !== "pending")).toMatchObject({
      state: "replaced",
      error: { code: "transaction_replaced" },
    });
  });
});

/** A promise that resolves when it is opened. */
function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

async function expectUntil<T>(read: () => Promise<T>, expected: T): Promise<void> {
  await expect.poll(read, { interval: 50 }).toEqual(expected);
}
