// The requests that wait for a vault worker: turns of the owners, room for what is next, and honest refusals.
import { describe, expect, it } from "vitest";
import { costOf, MESSAGE_US, RequestQueue, type TurnOf } from "../../../src/vault/threads/request-queue.js";
import type { KeyReference, VaultRequest } from "../../../src/vault/protocol.js";

const key: KeyReference = {
  keyId: "k",
  spec: "secp256k1",
  type: "asymmetric",
  usage: "sign/verify",
  generation: 1,
  envelope: "e",
};

class TestQueue {
  readonly queue: RequestQueue;
  readonly rejected: unknown[] = [];
  readonly #names = new Map<VaultRequest, string>();

  constructor(lengthMax = 100, turnOf?: TurnOf) {
    this.queue = new RequestQueue({ name: "vault-prompt", lengthMax, turnOf });
  }

  /** A request named `a1` is of owner `a`. */
  add(name: string, request: VaultRequest = operate(name)): void {
    this.#names.set(request, name);
    this.queue.add({
      request,
      resolve: () => undefined,
      reject: (error) => this.rejected.push(error),
    });
  }

  /** Takes requests and says which, by name. */
  take(roomUs: number): string[] {
    const taken = this.queue.take(roomUs);
    this.queue.ended(taken, performance.now());
    return taken.map(({ request }) => this.#names.get(request) ?? "");
  }
}

function operate(name: string): VaultRequest {
  const vault = { vaultId: "v", owner: `user:${name.charAt(0)}`, masterKeyId: "m", masterEnvelope: "e", generation: 1 };
  return {
    task: "operate",
    message: { vault, key, earlier: [], operation: "sign", items: [{ message: name }], worker: "prompt" },
  };
}

describe("requests that wait for a vault worker", () => {
  it("are taken in turns of the owners, as many as there is room for, each owner's together", () => {
    const test = new TestQueue();
    for (const name of ["a1", "a2", "a3", "a4", "b1", "c1", "b2"]) test.add(name);
    expect(test.queue.waitingUs).toBe(7 * costOf(operate("a1")));
    expect(test.take(5 * costOf(operate("a1")))).toEqual(["a1", "a2", "b1", "b2", "c1"]);
    expect([test.take(1), test.take(MESSAGE_US), test.take(MESSAGE_US)]).toEqual([["a3"], ["a4"], []]);
    expect([test.queue.waitingUs, test.queue.pending]).toEqual([0, 0]);
    expect(test.queue.figures).toMatchObject({ waiting: 0, running: 0, started: 7, refused: 0 });
  });

  it("of all applications of one person take that person's turns, also when it changes who answers for them", () => {
    let answers = new Map([
      ["user:a", "user:p"],
      ["user:b", "user:p"],
    ]);
    const test = new TestQueue(4, (owner) => answers.get(owner) ?? owner);
    for (const name of ["a1", "b1", "a2", "c1"]) test.add(name);
    expect(test.take(2 * costOf(operate("a1")))).toEqual(["a1", "c1"]);
    // A full queue makes room for who has less in it: all that waits is the person's.
    for (const name of ["b2", "b3", "c2"]) test.add(name);
    expect(test.rejected).toHaveLength(1);
    answers = new Map();
    expect(test.take(10 * MESSAGE_US).sort()).toEqual(["a2", "b1", "b2", "c2"]);
    expect(test.queue.pending).toBe(0);
  });

  it("for another's secret take the turn of who asks", () => {
    const test = new TestQueue();
    const vault = { vaultId: "v", owner: "user:a", masterKeyId: "m", masterEnvelope: "e", generation: 1 };
    const secret = { secretId: "s", name: "pin", type: "text" };
    const openFor = (asker?: string): VaultRequest => ({
      task: "open_secret",
      message: { vault, secret, envelope: "e", ...(asker === undefined ? {} : { asker }) },
    });
    for (const name of ["b1", "b2", "b3"]) test.add(name, openFor("user:b"));
    test.add("a1", openFor());
    test.add("a2");
    expect(test.take(3 * MESSAGE_US)).toEqual(["b1", "b2", "a1"]);
  });

  it("of the server itself take a turn of their own, apart from public verification", () => {
    const test = new TestQueue();
    for (let index = 0; index < 50; index += 1)
      test.add("public", { task: "bls_aggregate", message: { owner: "user:p", signatures: [] } });
    test.add("server", { task: "lock", message: null });
    expect(test.take(2 * MESSAGE_US)).toEqual(["public", "server"]);
  });

  it("of public keys take the turns of who asks, each by its size", () => {
    const test = new TestQueue();
    const fast = (owner: string, count: number): VaultRequest => ({
      task: "bls_fast_verify",
      message: { owner, message: "00", public_keys: Array.from({ length: count }, () => "00"), signature: "00" },
    });
    for (const name of ["a1", "a2", "a3"]) test.add(name, fast("user:a", 512));
    test.add("b1", fast("user:b", 1));
    expect([test.take(4 * MESSAGE_US), test.take(4 * MESSAGE_US), test.take(4 * MESSAGE_US)]).toEqual([
      ["a1"],
      ["b1"],
      ["a2"],
    ]);
    expect(costOf(fast("user:a", 512)) - costOf(fast("user:a", 1))).toBe(511 * 1_000);
    const claim = { owner: "user:a", message: "00", public_keys: ["00", "00"], signature: "00" };
    const verify = (messages: string[]): number => costOf({ task: "bls_verify", message: { ...claim, messages } });
    expect(verify(["00", "01"]) - verify([])).toBe(20_000);
    expect(costOf({ task: "bls_verify_possession", message: { owner: "user:a", public_key: "00", proof: "00" } })).toBe(
      21_000,
    );
  });

  it("are refused beyond the queue, the newest of the owner with the most for one with less", () => {
    const test = new TestQueue(3);
    for (const name of ["a1", "a2", "a3", "a4", "b1"]) test.add(name);
    expect(test.rejected).toMatchObject([
      { code: "overloaded", retryAfterSec: 1, message: "vault-prompt: the queue is full, try again in 1 s" },
      { code: "overloaded" },
    ]);
    expect(test.take(Infinity)).toEqual(["a1", "a2", "b1"]);
    expect([test.queue.waitingUs, test.queue.figures.refused]).toEqual([0, 2]);
  });
});
