/** Limits of compilations that the operator has set for single owners. */
import { afterAll, describe, expect, it } from "vitest";
import { SETTINGS } from "../../../src/platform/settings.js";
import { MemoryBudget } from "../../../src/platform/concurrency/memory-budget.js";
import { ProcessTasks, type ProcessTask, type ProcessTaskFailure } from "../../../src/platform/pool/process-task.js";
import { StartError } from "../../../src/platform/start-error.js";
import { ProcessAnalyzer } from "../../../src/prover/compute/analysis-task.js";
import { parseCompileOwners } from "../../../src/prover/compute/compile-allowances.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { withMemory } from "../../../src/prover/compute/native-circom.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import { recordedLog } from "../../support/silent-log.js";

const USER = "user:0190b8f0-0000-7000-8000-00000000000a";
const ORGANIZATION = "organization:0190b8f0-0000-7000-8000-00000000000b";
const SOURCE = { files: { "main.circom": "template T() {} component main = T();" }, main: "main.circom" } as const;
const MIB = 1024 ** 2;

/** Notes the limits under which a compiler would run. */
class NotingTasks extends ProcessTasks {
  readonly #neededMb: number;

  /** @param options.neededMb without which a compiler ends for its memory */
  constructor({ neededMb }: { readonly neededMb: number }) {
    super();
    this.#neededMb = neededMb;
  }

  readonly given: { readonly memoryMb: number; readonly seconds: number; readonly pages: number }[] = [];

  override run<Request>({ limits, request }: ProcessTask<Request>): Promise<ProcessTaskFailure> {
    const { limits: compiler } = request as { readonly limits: { readonly compilerPagesMax: number } };
    const { memoryBytesMax, cpuSeconds } = limits;
    const memoryMb = memoryBytesMax / MIB;
    this.given.push({ memoryMb, seconds: cpuSeconds, pages: compiler.compilerPagesMax });
    const code = memoryMb < this.#neededMb ? "memory" : "deadline";
    return Promise.resolve({ ok: false, code, message: "no compiler here" });
  }
}

describe("the setting", () => {
  it("names users and organizations, each once, within what the other settings allow", () => {
    const allowances = parseCompileOwners(`${USER}=8192/600, ${ORGANIZATION}=128/1`);
    expect([...allowances]).toEqual([
      [USER, { memoryMb: 8192, seconds: 600 }],
      [ORGANIZATION, { memoryMb: 128, seconds: 1 }],
    ]);
    expect(parseCompileOwners("").size).toBe(0);
    // Ids are compared as the server writes them.
    expect(parseCompileOwners(`${USER.toUpperCase().replace("USER", "user")}=128/1`).has(USER)).toBe(true);
    for (const [text, reason] of [
      [`${USER}=127/600`, /MiB of user:.* from 128 to 65536/],
      [`${USER}=65537/600`, /MiB of user/],
      [`${USER}=8192/0`, /seconds of user:.* from 1 to 3600/],
      [`${USER}=8192/3601`, /seconds of user/],
      [`${USER}=8192/600,${USER}=8192/600`, /twice/],
    ] as const) {
      expect(() => parseCompileOwners(text), text).toThrow(reason);
      expect(() => parseCompileOwners(text), text).toThrow(StartError);
    }
  });

  it("has one form", () => {
    const { pattern } = SETTINGS.compile_owners.schema as unknown as { readonly pattern: string };
    for (const text of ["", `${USER}=8192/600`, `${USER}=8192/600, ${ORGANIZATION}=1/1`])
      expect(text, text).toMatch(new RegExp(pattern));
    for (const text of [
      USER,
      `${USER}=8192`,
      `${USER}=8192/600,`,
      `${USER}=-1/600`,
      "application:0190b8f0-0000-7000-8000-00000000000a=8192/600",
      "user:0190b8f0=8192/600",
    ])
      expect(text, text).not.toMatch(new RegExp(pattern));
  });
});

describe("a compilation", () => {
  const log = recordedLog();
  const pools = new ComputePools(
    { proveThreads: 1, interactiveThreads: 1, proveQueueLengthMax: 8, interactiveQueueLengthMax: 8 },
    { log },
  );
  afterAll(async () => {
    await pools.stop();
  });
  const limits = {
    compile: { memoryMb: 2048, seconds: 120 },
    compileOwners: new Map([[USER, { memoryMb: 8192, seconds: 600 }]]),
  };
  /** Three quarters of the memory, and never more than WebAssembly addresses. */
  const EVERYONE = { memoryMb: 2048, seconds: 120, pages: 24_576 };
  const OWN = { memoryMb: 8192, seconds: 600, pages: 65_536 };
  /** With which each begins. */
  const FIRST = { memoryMb: 768, pages: 9_216 };

  it("has its owner's limits, and those of everyone without any", async () => {
    const tasks = new NotingTasks({ neededMb: 1024 });
    const compute = new PooledCompute({ constraintsMax: 1000, ...limits }, { pools, tasks, log });
    const input = { source: SOURCE, curve: "BN254" } as const;
    const refused = await compute.compile(input, { owner: USER });
    await compute.compile(input, { owner: ORGANIZATION });
    await compute.compile(input);
    const everyone = [{ ...EVERYONE, ...FIRST }, EVERYONE];
    expect(tasks.given).toEqual([{ ...OWN, ...FIRST }, OWN, ...everyone, ...everyone]);
    expect(refused).toMatchObject({ ok: false, errors: [{ message: expect.stringMatching(/600 seconds/) as string }] });
  });

  it("for the analysis has the same", async () => {
    const tasks = new NotingTasks({ neededMb: 1024 });
    const analyzer = new ProcessAnalyzer({ ...limits, seconds: 60 }, { tasks });
    const { signal } = new AbortController();
    const input = { source: SOURCE, curve: "BN254", constraintCount: 100_000 } as const;
    await analyzer.analyze({ ...input, owner: USER }, signal);
    await analyzer.analyze({ ...input, owner: ORGANIZATION }, signal);
    expect(tasks.given).toEqual([{ ...OWN, ...FIRST }, OWN, { ...EVERYONE, ...FIRST }, EVERYONE]);
  });

  it("that ends for another reason is not begun anew", async () => {
    const tasks = new NotingTasks({ neededMb: 0 });
    const compute = new PooledCompute({ constraintsMax: 1000, ...limits }, { pools, tasks, log });
    await compute.compile({ source: SOURCE, curve: "BN254" });
    expect(tasks.given).toEqual([{ ...EVERYONE, ...FIRST }]);
  });

  it("has what the server has at most, and its refusal names the settings", async () => {
    const tasks = new NotingTasks({ neededMb: 4096 });
    const memory = new MemoryBudget({ bytes: 512 * MIB });
    const compute = new PooledCompute({ constraintsMax: 1000, ...limits }, { pools, tasks, memory, log });
    const refused = await compute.compile({ source: SOURCE, curve: "BN254" });
    expect(tasks.given.map(({ memoryMb }) => memoryMb)).toEqual([512]);
    const message = expect.stringMatching(
      /512 MiB \(PROOFWRIGHT_COMPILE_MEMORY_MB, .*PROOFWRIGHT_MEMORY_MB\)/,
    ) as string;
    expect(refused).toMatchObject({ ok: false, errors: [{ code: "circuit_too_large", message }] });
    expect(memory.taken).toBe(0);
  });

  it("by the operator's own compiler has them where the system limits memory", () => {
    const compiler = { path: "/circom", name: "circom 2.2.2", wrapper: ["setpriv", "prlimit", "--data=1", "--"] };
    expect(withMemory(compiler, 2)).toEqual({ ...compiler, wrapper: ["setpriv", "prlimit", "--data=2097152", "--"] });
    expect(withMemory({ ...compiler, wrapper: [] }, 2).wrapper).toEqual([]);
  });
});
