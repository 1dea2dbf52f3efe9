/** The Solidity contract of a prover, which is made when it is first asked for. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { AppError } from "../../../src/platform/errors.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import { failureOf, openTestRegistry, provision, register, type TestRegistry } from "../support.js";

/** Counts the contracts, and can hold or refuse the next one. */
class CountedCompute extends LocalCompute {
  contracts = 0;
  before: () => Promise<void> = async () => undefined;

  override async verifierContract(
    ...args: Parameters<LocalCompute["verifierContract"]>
  ): ReturnType<LocalCompute["verifierContract"]> {
    this.contracts += 1;
    await this.before();
    return await super.verifierContract(...args);
  }
}

const compute = new CountedCompute();
let test: TestRegistry;
let owner: Subject;

beforeAll(async () => {
  test = await openTestRegistry({ compute });
  owner = subject();
});
afterAll(async () => {
  await test.close({ keep: true });
  removeFolder(test.folder);
});

const listed = async (id: string) =>
  (await test.provers.artifacts(owner, id)).find(({ name }) => name === "verifier.sol");
const download = (id: string) => test.provers.artifact(owner, id, "verifier.sol");

describe("the verifier contract", () => {
  it("is listed without a hash until it is first downloaded, by two at once, and is made once", async () => {
    const { id } = await provision(test.provers, owner);
    expect(compute.contracts).toBe(0);
    expect(await listed(id)).toEqual({ name: "verifier.sol", sha256: null, bytes: null, received: 0, complete: false });
    const before = test.provers.get(owner, id);
    const [one, other] = await Promise.all([download(id), download(id)]);
    expect(compute.contracts).toBe(1);
    expect(other).toEqual(one);
    expect(readFileSync(one.path, "utf8")).toContain("function verifyProof(");
    expect(await download(id)).toEqual(one);
    expect(compute.contracts).toBe(1);
    expect(await listed(id)).toEqual({
      ...{ name: "verifier.sol", sha256: one.sha256, bytes: one.bytes },
      ...{ received: one.bytes, complete: true },
    });
    expect(test.provers.get(owner, id)).toEqual(before);
  });

  it("is named after the prover, has its key's hash, and comes with an example of a caller", async () => {
    const { id } = await provision(test.provers, owner, { name: "concert tickets" });
    const [contract, caller] = await Promise.all(
      ["verifier.sol", "verifier_caller.sol"].map(async (name) =>
        readFileSync((await test.provers.artifact(owner, id, name)).path, "utf8"),
      ),
    );
    const key = await test.provers.artifact(owner, id, "verifying_key.json");
    expect(contract).toContain("contract ConcertTicketsVerifier {");
    expect(contract).toContain(`bytes32 public constant VERIFYING_KEY_SHA256 = 0x${key.sha256};`);
    expect(caller).toContain("contract ConcertTicketsVerifierCaller {");
    expect(caller).toContain(key.sha256);
    expect(await failureOf(() => test.provers.artifact(subject(), id, "verifier_caller.sol"))).toMatchObject({
      code: "not_found",
    });
  });

  it("is not there before the prover is provisioned, nor for others", async () => {
    const failed = await provision(test.provers, owner, { source: "template A() {" });
    expect(await listed(failed.id)).toBeUndefined();
    expect(await failureOf(() => download(failed.id))).toMatchObject({ code: "not_found" });
    const { id } = await provision(test.provers, owner);
    expect(await failureOf(() => test.provers.artifact(subject(), id, "verifier.sol"))).toMatchObject({
      code: "not_found",
    });
  });

  it("is asked for again after a failure", async () => {
    const { id } = await provision(test.provers, owner, { fresh_setup: true });
    compute.before = async () => {
      compute.before = async () => undefined;
      throw new AppError("overloaded", { message: "no thread is free" });
    };
    expect(await failureOf(() => download(id))).toMatchObject({ code: "overloaded" });
    expect((await download(id)).bytes).toBeGreaterThan(1000);
  });

  it("is made in the turn of one who waits, when the first asker's own has failed", async () => {
    const { id } = await provision(test.provers, owner, { fresh_setup: true });
    const stranger = subject();
    await test.registry.sharing.grant(owner, id, { user_id: stranger.id, may: "verify" });
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    compute.before = async () => {
      compute.before = async () => undefined;
      await gate;
      throw new AppError("overloaded", { message: "no thread is free" });
    };
    const before = compute.contracts;
    const theirs = failureOf(() => test.provers.artifact(stranger, id, "verifier.sol"));
    const mine = download(id);
    open();
    expect(await theirs).toMatchObject({ code: "overloaded" });
    expect((await mine).bytes).toBeGreaterThan(1000);
    expect(compute.contracts - before).toBe(2);
  });

  it("leaves no file when its prover is deleted meanwhile", async () => {
    const { id } = await provision(test.provers, owner, { fresh_setup: true });
    compute.before = async () => {
      compute.before = async () => undefined;
      await test.provers.delete(owner, id);
    };
    const before = filesOf(test);
    expect(await failureOf(() => download(id))).toMatchObject({ code: "not_found" });
    const after = filesOf(test);
    expect([...after].filter((hash) => !before.has(hash))).toEqual([]);
  });

  it("stays with the other prover of the same name and keys when one is deleted", async () => {
    const [one, other] = [await provision(test.provers, owner), await provision(test.provers, owner)];
    const [file, same] = [await download(one.id), await download(other.id)];
    expect(same.sha256).toBe(file.sha256);
    await test.provers.delete(owner, one.id);
    expect((await download(other.id)).sha256).toBe(file.sha256);
    expect(readFileSync(file.path, "utf8")).toContain("function verifyProof(");
  });

  it("is not made for a prover that is still in provisioning", async () => {
    await test.jobs.stop();
    const waiting = await register(test.provers, owner);
    expect(await failureOf(() => download(waiting.id))).toMatchObject({ code: "not_found" });
  });
});

function filesOf({ folder }: TestRegistry): Set<string> {
  const shelves = join(folder, "artifacts", "sha256");
  return new Set(readdirSync(shelves).flatMap((shelf) => readdirSync(join(shelves, shelf))));
}
