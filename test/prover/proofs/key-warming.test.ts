/** Keys that are open before their first proof, with the server's own threads, a real vault and real images. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { ComputeRequest, OpenKey, ProveValue, TaskResult } from "../../../src/engine/protocol.js";
import { openKeyBytes, storedKeyNeeds } from "../../../src/engine/proof-systems/memory-needs.js";
import { runComputeTask } from "../../../src/engine/tasks.js";
import type { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import type { ProveInput, WarmInput } from "../../../src/prover/compute/compute.js";
import { KeyImages } from "../../../src/prover/compute/keys/key-images.js";
import { OpenKeys } from "../../../src/prover/compute/keys/open-keys.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import { never, openTestRegistry, provision, type TestRegistry } from "../support.js";

const log = recordedLog();
const OWNER = subject("user");

/** Proves with keys that it holds open, and notes how each was opened. */
class OpeningCompute extends LocalCompute {
  readonly tasks: string[];
  /** The keys that were open ahead of a proof. */
  readonly warmed: string[] = [];
  /** What the last key is told to take. */
  keyBytes = 0;
  readonly #keys: OpenKeys;

  constructor(budgetBytes: number, images: KeyImages | undefined, tasks: string[] = []) {
    super();
    this.tasks = tasks;
    this.#keys = new OpenKeys({ budgetBytes, workspaces: 1 }, { pools: noting(this.tasks), images, log });
  }

  override async warmKey(input: WarmInput): Promise<boolean> {
    const isWarm = await this.#keys.warm(input, {}, () => Promise.resolve(true));
    if (isWarm === true) this.warmed.push(input.provingKey.sha256);
    return isWarm ?? false;
  }

  override async prove(input: ProveInput): Promise<TaskResult<ProveValue>> {
    const { provingKey, ...rest } = input;
    const needs = storedKeyNeeds(input.system, input.circuit, { keyBytes: provingKey.byteLength });
    this.keyBytes = openKeyBytes(needs, { workspaces: 1 });
    return await this.#keys.use(input, {}, async (openKey?: OpenKey) => {
      if (openKey === undefined) throw new Error("the key is not open");
      return (await runComputeTask({ task: "prove", message: { ...rest, openKey } })) as TaskResult<ProveValue>;
    });
  }
}

/** Runs tasks on the calling thread, and notes their names. */
function noting(tasks: string[]): Pick<ComputePools, "run"> {
  return {
    run: async (_pool: string, task: string, message: object) => {
      tasks.push(task);
      return await runComputeTask({ task, message } as unknown as ComputeRequest);
    },
  } as Pick<ComputePools, "run">;
}

let open: TestRegistry | undefined;
afterEach(async () => {
  await open?.close({ keep: true });
  open = undefined;
});

interface Server {
  readonly test: TestRegistry;
  readonly compute: OpeningCompute;
  readonly images: KeyImages | undefined;
}

/** Starts a registry in a folder, as a server does. */
async function start(
  folder: string,
  options: { readonly budgetBytes?: number; readonly isKept?: boolean } = {},
): Promise<Server> {
  await open?.close({ keep: true });
  const { budgetBytes = 2 ** 30, isKept = true } = options;
  const tasks: string[] = [];
  const images = isKept
    ? await KeyImages.open(
        { folder: join(folder, "key-images"), bytesMax: 2 ** 30, version: "1" },
        { pools: noting(tasks), log },
      )
    : undefined;
  const compute = new OpeningCompute(budgetBytes, images, tasks);
  open = await openTestRegistry({ folder, compute, images });
  return { test: open, compute, images };
}

async function prove({ test }: Server, id: string, Y = "35"): Promise<void> {
  const made = await test.provers.prove(OWNER, id, { inputs: { X: "3", Y }, signal: never });
  expect(made.public_signals).toEqual([Y]);
}

/** The SHA-256 of a prover's proving key. */
function keyOf({ test }: Server, id: string): string {
  const found = test.store.get<{ build: { artifacts: Record<string, { sha256: string }> } }>([
    "prover",
    OWNER.kind,
    OWNER.id,
    id,
  ]);
  return found?.value.build.artifacts.proving_key?.sha256 ?? "";
}

/** Resolves when the image of a key that was just opened is on disk and known. */
async function imageKept(folder: string, count = 1): Promise<void> {
  await expect
    .poll(() => readdirSync(join(folder, "key-images")).filter((name) => name.endsWith(".mark")).length)
    .toBe(count);
}

describe("a prover that has become ready", () => {
  it("has its key open before the first proof, and its image written for the next start", async () => {
    const folder = folderOfTest("key-warming");
    const server = await start(folder);
    const { id } = await provision(server.test.provers, OWNER);
    server.test.registry.warming.add(OWNER, id);
    await imageKept(folder);
    expect(server.compute.tasks).toEqual(["open_key", "write_key_image"]);
    await prove(server, id);
    expect(server.compute.tasks).toEqual(["open_key", "write_key_image"]);
  });

  it("is left alone where it is gone, where nothing is known of it, and after the stop", async () => {
    const server = await start(folderOfTest("key-warming"));
    const { id } = await provision(server.test.provers, OWNER);
    server.test.registry.warming.add(subject("user"), id);
    server.test.registry.warming.stop();
    server.test.registry.warming.add(OWNER, id);
    await server.test.registry.warming.start();
    expect(server.compute.tasks).toEqual([]);
  });
});

describe("after a start", () => {
  it("keys that were in use are read from their images, without their files", async () => {
    const folder = folderOfTest("key-warming");
    const first = await start(folder);
    const { id } = await provision(first.test.provers, OWNER);
    await prove(first, id);
    await imageKept(folder);
    const second = await start(folder);
    await second.test.registry.warming.start();
    expect(second.compute.tasks).toEqual(["read_key_image"]);
    await prove(second, id);
    expect(second.compute.tasks).toEqual(["read_key_image"]);
  });

  it("a key whose image, or what its vault knows of it, was changed on the disk is made from its file", async () => {
    const folder = folderOfTest("key-warming");
    const first = await start(folder);
    const { id } = await provision(first.test.provers, OWNER);
    await prove(first, id);
    await imageKept(folder);
    const images = join(folder, "key-images");
    const change = (extension: string, by: (content: Buffer) => Buffer): void => {
      const name = readdirSync(images).find((each) => each.endsWith(extension)) ?? "";
      writeFileSync(join(images, name), by(readFileSync(join(images, name))));
    };
    /** Empty while the image is made again. */
    const markText = (): string => {
      const name = readdirSync(images).find((each) => each.endsWith(".mark"));
      return name === undefined ? "" : readFileSync(join(images, name), "utf8");
    };
    const spoilers = [
      () => {
        change(".image", (content) => content.fill(content[5000]! ^ 1, 5000, 5001));
      },
      () => {
        change(".mark", (content) => Buffer.from(content.toString().replace(/"sealed":"..../, '"sealed":"AAAA')));
      },
      () => {
        change(".mark", () => Buffer.from("no JSON"));
      },
    ];
    for (const spoil of spoilers) {
      spoil();
      const spoilt = markText();
      const next = await start(folder);
      await prove(next, id);
      await expect.poll(() => next.compute.tasks.at(-1)).toBe("write_key_image");
      expect(next.compute.tasks.filter((task) => task === "open_key")).toHaveLength(1);
      await expect.poll(() => ["", spoilt].includes(markText())).toBe(false);
    }
  });

  it("an image from another hand is not read, whatever its prover's owner has the vault seal for it", async () => {
    const folder = folderOfTest("key-warming");
    const first = await start(folder);
    const { id, vault_id } = await provision(first.test.provers, OWNER);
    await prove(first, id);
    await imageKept(folder);
    const key = keyOf(first, id);
    const image = join(folder, "key-images", `${key}.image`);
    const mark = join(folder, "key-images", `${key}.${id}.mark`);
    writeFileSync(image, readFileSync(image).fill(0, 70_000, 70_064));
    const value = JSON.stringify({ key, image: createHash("sha256").update(readFileSync(image)).digest("hex") });
    const secret = { name: "", type: "prover_key_image", value };
    const { commit } = await first.test.vault.vault.prepareSecret(OWNER, vault_id, secret);
    const sealed = commit.puts?.map((put) => (put.value as { envelope?: string }).envelope).find(Boolean);
    expect(sealed).toMatch(/./);
    writeFileSync(mark, JSON.stringify({ ...(JSON.parse(readFileSync(mark, "utf8")) as object), sealed }));
    const next = await start(folder);
    await prove(next, id);
    expect(next.compute.tasks[0]).toBe("open_key");
  });

  it("the one that was used last comes first, where memory is for one alone", async () => {
    const folder = folderOfTest("key-warming");
    const first = await start(folder);
    const { id } = await provision(first.test.provers, OWNER);
    const source = `pragma circom 2.1.0;
template Other() { signal input X; signal input Y; signal X2; X2 <== X * X; Y === X2 * X + X + 6; }
component main {public [Y]} = Other();`;
    const other = await provision(first.test.provers, OWNER, { source });
    await prove(first, id);
    await prove(first, other.id, "36");
    await imageKept(folder, 2);
    const [key = "", otherKey = ""] = [id, other.id].map((each) => keyOf(first, each));
    for (const [latest, secondsByKey] of [
      [id, { [key]: 2_000, [otherKey]: 1_000 }],
      [other.id, { [key]: 1_000, [otherKey]: 2_000 }],
    ] as const) {
      for (const [sha256, seconds] of Object.entries(secondsByKey))
        utimesSync(join(folder, "key-images", `${sha256}.image`), seconds, seconds);
      const next = await start(folder, { budgetBytes: first.compute.keyBytes });
      await next.test.registry.warming.start();
      expect([next.compute.warmed, next.compute.tasks]).toEqual([[keyOf(next, latest)], ["read_key_image"]]);
    }
  });

  it("some key is open where no images are kept", async () => {
    const folder = folderOfTest("key-warming");
    const first = await start(folder, { isKept: false });
    const { id } = await provision(first.test.provers, OWNER);
    const second = await start(folder, { isKept: false });
    await second.test.registry.warming.start();
    expect(second.compute.tasks).toEqual(["open_key"]);
    await prove(second, id);
    expect(second.compute.tasks).toEqual(["open_key"]);
  });

  it("the image of a deleted prover is gone", async () => {
    const folder = folderOfTest("key-warming");
    const server = await start(folder);
    const { id } = await provision(server.test.provers, OWNER);
    await prove(server, id);
    await imageKept(folder);
    await server.test.provers.delete(OWNER, id);
    expect(readdirSync(join(folder, "key-images"))).toEqual([]);
  });
});
