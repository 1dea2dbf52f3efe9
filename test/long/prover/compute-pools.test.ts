/**
 * Proofs on the pools' real threads: with helpers, with many at once, and with every thread that can be lost under one.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { readCircuitInterface } from "../../../src/engine/circuit/interface.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { makeGroth16Key } from "../../../src/engine/groth16/make-key.js";
import type { SharedKey } from "../../../src/engine/kernels/threads/shared-key.js";
import type { ProveMessage, SharedBytes } from "../../../src/engine/protocol.js";
import { ComputePools, type ProveOptions } from "../../../src/prover/compute/compute-pools.js";
import { recordedLog } from "../../support/silent-log.js";

/** Enough rows for helpers to be called. */
const ROWS = 1100;
const THREADS = 2;
const entry = fileURLToPath(new URL("../../support/compute-fixture.worker.mjs", import.meta.url));
let message: ProveMessage & { readonly provingKey: SharedBytes };
let pools: ComputePools;

function shared(bytes: Uint8Array): SharedBytes {
  const memory = new SharedArrayBuffer(bytes.length);
  new Uint8Array(memory).set(bytes);
  return { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: memory };
}

async function openKey(workspaces: number): Promise<SharedKey> {
  const opened = await pools.run("prove", "open_key", { ...message, workspaces });
  if (!opened.ok) throw new Error(opened.message);
  return opened.value;
}

async function prove(key: SharedKey, id: string, options: ProveOptions = {}): Promise<boolean> {
  const made = await pools.prove({ ...message, openKey: { id, key } }, options);
  if (!made.ok) throw new Error(made.message);
  const checked = await pools.run("interactive", "verify", {
    system: message.system,
    circuit: message.circuit,
    verifyingKey: message.verifyingKey,
    inputs: { y: made.value.publicSignals[0] },
    proof: made.value.proof,
  });
  return checked.ok && checked.value.result;
}

/** Workspaces of the key that a thread has. */
function taken(key: SharedKey): number {
  return [...new Int32Array(key.memory.buffer, key.workspaceFlags, key.workspaces.length)].filter((flag) => flag !== 0)
    .length;
}

/** Resolves once every thread of the pool has done a task: none of them is stuck. */
async function everyThreadAnswers(): Promise<void> {
  await Promise.all(
    Array.from({ length: THREADS }, async () => {
      await pools.run("prove", "warm", { backend: "wasm", withTrees: false });
    }),
  );
}

beforeAll(async () => {
  const source = `pragma circom 2.1.0; template Squares(n) { signal input x; signal output y; signal s[n]; s[0] <== x * x; for (var i = 1; i < n; i++) { s[i] <== s[i - 1] * s[i - 1] + i; } y <== s[n - 1]; } component main = Squares(${String(ROWS)});`;
  const compiled = await compileCircuit({ sources: { "main.circom": source }, main: "main.circom", curve: "BN254" });
  if (!compiled.ok) throw new Error("the circuit does not compile");
  const made = await makeGroth16Key(compiled.r1cs);
  if (!made.ok) throw new Error(made.message);
  message = {
    system: "groth16/BN254",
    circuit: readCircuitInterface(readR1cs(compiled.r1cs), compiled.sym),
    witnessProgram: shared(compiled.wasm),
    provingKey: shared(made.zkey),
    verifyingKey: shared(Buffer.from(JSON.stringify(made.verifyingKey))),
    inputs: { x: "3" },
  };
});

// New threads for each test: a helper that is still busy with the last proof, or a thread that is still being replaced,
// would leave the next proof without helpers.
beforeEach(() => {
  pools = new ComputePools(
    {
      proveThreads: THREADS,
      interactiveThreads: 1,
      proveQueueLengthMax: 8,
      interactiveQueueLengthMax: 8,
      proveHelpersMax: THREADS,
      entry,
    },
    { log: recordedLog() },
  );
});
afterEach(async () => {
  await pools.stop();
});

describe("a proof in the pool `prove`", () => {
  it("is made with idle threads as helpers, which go home afterwards", async () => {
    const key = await openKey(THREADS);
    for (let i = 0; i < 3; i += 1) expect(await prove(key, "sound")).toBe(true);
    await everyThreadAnswers();
    expect(taken(key)).toBe(0);
  });

  it("shares its pool with more proofs than there are threads", async () => {
    const key = await openKey(THREADS);
    expect(await Promise.all(Array.from({ length: 2 * THREADS }, async () => await prove(key, "sound")))).toEqual(
      Array.from({ length: 2 * THREADS }, () => true),
    );
    await everyThreadAnswers();
    expect(taken(key)).toBe(0);
  });

  it("ends a rehearsal with its key, and finds a workspace, as do those that come with it", async () => {
    const opened = { id: "rehearsed", key: await openKey(THREADS) };
    const { system, circuit, verifyingKey, witnessProgram } = message;
    const warmed = await pools.warmKey({ system, openKey: opened, verifyingKey, witnessProgram });
    if (warmed === undefined) throw new Error("no program");
    const rehearsing = pools.rehearse({ system, openKey: opened, circuit, ...warmed }, {});
    const proofs = Array.from({ length: THREADS + 1 }, async () => await prove(opened.key, opened.id));
    expect(await Promise.all(proofs)).toEqual(proofs.map(() => true));
    expect(await rehearsing).toBe("given_up");
    expect(await pools.rehearse({ system, openKey: opened, circuit, ...warmed }, {})).toBe("done");
    await everyThreadAnswers();
    expect(taken(opened.key)).toBe(0);
  });

  it("is made again when its helpers die in it, and says that a thread was lost", async () => {
    const key = await openKey(2 * THREADS);
    let lost = 0;
    expect(
      await prove(key, "helper dies", {
        onThreadLost: () => {
          lost += 1;
        },
      }),
    ).toBe(true);
    await everyThreadAnswers();
    expect(lost).toBeGreaterThanOrEqual(1);
    expect(taken(key)).toBeGreaterThanOrEqual(1);
    expect(await prove(key, "sound")).toBe(true);
  });

  it("is made again when its own thread dies, and its helpers are not left waiting", async () => {
    const key = await openKey(2 * THREADS);
    let lost = 0;
    expect(
      await prove(key, "leader dies", {
        onThreadLost: () => {
          lost += 1;
        },
      }),
    ).toBe(true);
    await everyThreadAnswers();
    expect(lost).toBe(1);
  });

  it.each([
    [
      "its caller has gone",
      (): ProveOptions => {
        const caller = new AbortController();
        setImmediate(() => {
          caller.abort(new Error("client has gone"));
        });
        return { signal: caller.signal };
      },
      "client has gone",
    ],
    ["its time is up", (): ProveOptions => ({ deadlineMs: 1500 }), "did not end within"],
  ])(
    "ends when %s, though it waits for a task that nobody does, and frees all threads",
    async (_name, options, reason) => {
      const key = await openKey(2 * THREADS);
      await expect(prove(key, "leader stalls", options())).rejects.toThrow(reason);
      await everyThreadAnswers();
      expect(await prove(key, "sound")).toBe(true);
    },
  );
});

describe("proofs with a key that has fewer workspaces than there are threads", () => {
  /** The reference backend would fail: it has no key. */
  const onKernelsOnly = async (key: SharedKey, options: ProveOptions = {}): Promise<boolean> => {
    const none = { sha256: "no key", bytes: new SharedArrayBuffer(0) };
    const made = await pools.prove({ ...message, provingKey: none, openKey: { id: "sound", key } }, options);
    return made.ok;
  };

  it("wait for each other instead of building keys of their own", async () => {
    const key = await openKey(1);
    expect(await Promise.all(Array.from({ length: 4 }, async () => await onKernelsOnly(key)))).toEqual(
      Array.from({ length: 4 }, () => true),
    );
    expect(taken(key)).toBe(0);
  });

  it("take the workspaces of helpers, who are sent home", async () => {
    await pools.stop();
    const limits = { proveQueueLengthMax: 8, interactiveQueueLengthMax: 8, proveHelpersMax: 3 };
    pools = new ComputePools({ ...limits, proveThreads: 3, interactiveThreads: 1, entry }, { log: recordedLog() });
    const key = await openKey(2);
    expect(await Promise.all(Array.from({ length: 4 }, async () => await onKernelsOnly(key)))).toEqual(
      Array.from({ length: 4 }, () => true),
    );
  });

  it("wait no longer than their time, or than their caller", async () => {
    const key = await openKey(1);
    const gone = new AbortController();
    const stalling = prove(key, "leader stalls", { signal: gone.signal });
    const left = new AbortController();
    const waiting = prove(key, "leader stalls", { signal: left.signal });
    left.abort(new Error("client has gone"));
    await expect(waiting).rejects.toThrow("client has gone");
    await expect(prove(key, "leader stalls", { deadlineMs: 5 })).rejects.toMatchObject({ code: "deadline_exceeded" });
    gone.abort(new Error("end of the test"));
    await expect(stalling).rejects.toThrow("end of the test");
  });
});
