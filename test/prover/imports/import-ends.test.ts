/** Imports that come to nothing: by the time, by a server that cannot read them, by the bytes of their owner. */
import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { StoreConflict, type Store } from "../../../src/platform/store/store.js";
import type { ImportOutcome } from "../../../src/prover/compute/compute.js";
import { ProverRepository } from "../../../src/prover/repository.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import {
  failureOf,
  never,
  openTestRegistry,
  provision,
  type TestRegistry,
  type TestRegistryOptions,
} from "../support.js";

const NAMES = ["circuit.r1cs", "circuit.wasm", "circuit.sym"] as const;
const IMPORT = { "circuit.r1cs": {}, "circuit.wasm": {}, "circuit.sym": {} };

let test: TestRegistry;
afterEach(async () => {
  await test.close();
});

async function open(options: TestRegistryOptions): Promise<void> {
  test = await openTestRegistry(options);
}

async function create(owner: Subject, scheme = "groth16"): Promise<string> {
  const request = { proving_scheme: scheme, curve: "BN254", import: IMPORT };
  return (await test.provers.create(owner, request, { waitSec: 0, signal: never })).id;
}

async function upload(owner: Subject, id: string, name: string, bytes: Buffer): Promise<string> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(bytes);
  }
  const body = { bytes: bytes.length, part: undefined, sha256: undefined, chunks: chunks() };
  const { sha256 } = await test.provers.upload(owner, id, { name, body });
  return await test.artifacts.resolve(sha256 ?? "");
}

class Unreadable extends LocalCompute {
  override readImport(): Promise<ImportOutcome> {
    return Promise.reject(new Error("the disk is gone"));
  }
}

describe("an import", () => {
  it("that the server gives up keeps no file", async () => {
    await open({ compute: new Unreadable() });
    const owner = subject();
    const id = await create(owner);
    const paths: string[] = [];
    for (const name of NAMES) paths.push(await upload(owner, id, name, Buffer.from(`given up ${name}`)));
    await expect.poll(() => test.provers.get(owner, id).status).toBe("failed");
    await expect.poll(() => paths.filter((path) => existsSync(path))).toEqual([]);
  });

  it("that is deleted leaves the reference string of its key", async () => {
    await open({});
    const owner = subject();
    const first = await provision(test.provers, owner, { proving_scheme: "plonk" });
    const id = await create(owner, "plonk");
    for (const name of NAMES)
      await upload(owner, id, name, readFileSync((await test.provers.artifact(owner, first.id, name)).path));
    await expect.poll(() => test.provers.get(owner, id).status).toBe("provisioned");
    const { setup } = test.provers.get(owner, id);
    await test.provers.delete(owner, first.id);
    await test.provers.delete(owner, id);
    expect(await test.artifacts.verify(setup?.sha256 ?? "")).toMatchObject({ sha256: setup?.sha256 });
  });

  it("counts its files until it is provisioned", async () => {
    await open({ idle: true, uploadBytesMax: 1000 });
    const owner = subject();
    const first = await create(owner);
    for (const name of NAMES) await upload(owner, first, name, Buffer.alloc(600, name));
    const second = await create(owner);
    expect(await failureOf(() => upload(owner, second, NAMES[0], Buffer.alloc(300)))).toMatchObject({
      code: "too_many_requests",
    });
    await test.provers.delete(owner, first);
    await upload(owner, second, NAMES[0], Buffer.alloc(300));
  });

  it("whose time is up fails with an event, and a conflict of one stops no other", async () => {
    let conflicts = "";
    const wrapStore = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          if (name === "commit")
            return async (...args: Parameters<Store["commit"]>): Promise<void> => {
              const puts = args[0].puts ?? [];
              if (conflicts !== "" && puts.some(({ key }) => key.at(-1) === conflicts))
                throw new StoreConflict(["prover"]);
              await target.commit(...args);
            };
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    await open({ idle: true, wrapStore });
    const owner = subject();
    const repository = new ProverRepository({ store: test.store });
    const ids = [await create(owner), await create(owner)];
    const path = await upload(owner, ids[1]!, NAMES[0], Buffer.from("in vain"));
    for (const id of ids) {
      const record = repository.find(owner, id)!;
      const { build } = record.value;
      const expired = { ...build.import!, expires_at: "2020-01-01T00:00:00.000Z" };
      await test.store.commit(repository.update(record, { ...record.value, build: { ...build, import: expired } }));
    }
    conflicts = ids[0]!;
    await test.registry.imports.start();
    test.registry.imports.stop();
    expect(ids.map((id) => test.provers.get(owner, id).status)).toEqual(["init", "failed"]);
    expect(existsSync(path)).toBe(false);
    const events = test.store.range<{ readonly subjects: string[] }>(["events"]);
    expect(events.flatMap(({ value }) => value.subjects)).toEqual(["privacy.prover.setup.failed"]);
  });
});
