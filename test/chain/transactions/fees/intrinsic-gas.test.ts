import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  intrinsicGas,
  requireGasBeforeExecution,
  requireIntrinsicGas,
} from "../../../../src/chain/transactions/fees/intrinsic-gas.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../../../support/anvil.js";

const RECEIVER = "0x00000000000000000000000000000000000000aa";
let anvil: Anvil;
beforeAll(async () => {
  anvil = await startAnvil();
});
afterAll(async () => {
  await anvil.stop();
});

describe("gas that a transaction needs before it does anything", () => {
  // The node's own estimate of a transfer to an account without code is exactly that.
  it.each([
    ["no data", "0x"],
    ["zero bytes", `0x${"00".repeat(100)}`],
    ["other bytes", `0x${"7f".repeat(100)}`],
    ["both", `0x${"007f".repeat(33)}`],
  ])("is what a real node asks for %s", async (_, data) => {
    expect(intrinsicGas(RECEIVER, data)).toBe(
      BigInt((await anvil.request("eth_estimateGas", { from: ANVIL_ACCOUNTS[0], to: RECEIVER, data })) as string),
    );
  });

  it("counts 32,000 and two a word for a creation (EIP-3860)", () => {
    expect(intrinsicGas(null, `0x${"01".repeat(33)}`)).toBe(21_000n + 33n * 16n + 32_000n + 4n);
  });

  it("counts what an access list names, as a real node does (EIP-2930)", async () => {
    const accessList = [
      { address: RECEIVER, storageKeys: [`0x${"00".repeat(32)}`, `0x${"01".repeat(32)}`] },
      { address: ANVIL_ACCOUNTS[1], storageKeys: [] },
    ];
    const call = { from: ANVIL_ACCOUNTS[0], to: RECEIVER, accessList };
    expect(intrinsicGas(RECEIVER, "0x", { accessListAddresses: 2, accessListKeys: 2 })).toBe(
      BigInt((await anvil.request("eth_estimateGas", call)) as string),
    );
  });

  it("counts 25,000 for an authorization (EIP-7702)", () => {
    expect(intrinsicGas(RECEIVER, "0x", { authorizations: 2 })).toBe(71_000n);
  });

  it("is allowed to the unit, and refused one below", () => {
    requireIntrinsicGas(21_000n, { to: RECEIVER, data: "0x" });
    expect(() => {
      requireIntrinsicGas(20_999n, { to: RECEIVER, data: "0x" });
    }).toThrow("at least 21000");
  });

  it("is held against signed bytes without the floor of EIP-7623, which not every chain has", () => {
    const content = { to: RECEIVER, data: `0x${"7f".repeat(100)}` };
    requireGasBeforeExecution(22_600n, content);
    expect(() => {
      requireGasBeforeExecution(22_599n, content);
    }).toThrow("at least 22600");
    expect(() => {
      requireIntrinsicGas(22_600n, content);
    }).toThrow("at least 25000");
  });
});
