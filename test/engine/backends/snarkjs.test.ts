import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { describe, expect, it } from "vitest";
import { primeCurve, primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { newFolder } from "../../support/temporary-folder.js";

const backendUrl = pathToFileURL(join(PACKAGE_ROOT, "dist", "src", "engine", "backends", "snarkjs.js")).href;
/**
 * What a thread sees after priming: its message listeners, a global `self`, and whether snarkjs reuses the kept curve.
 */
const PROBE = `
  const { primeCurve, primeSnarkjs } = await import(${JSON.stringify(backendUrl)});
  await primeCurve(); await primeCurve(); await primeSnarkjs();
  const first = globalThis.curve_bn128; await primeSnarkjs();
  const state = { self: typeof self, kept: first !== null && first === globalThis.curve_bn128, code: first.tm.code instanceof Uint8Array };
`;

describe("snarkjs backend", () => {
  it("is primed once on a thread and then kept", async () => {
    expect(await primeCurve()).toBe(await primeCurve());
    expect(await primeSnarkjs()).toBe(await primeSnarkjs());
  });

  it.each([undefined, {}, { mod: "data:text/javascript,globalThis.injected=true" }])(
    "leaves a plain worker with workerData %j as it was, and the thread ends by itself",
    async (workerData) => {
      const source = `
      import("node:worker_threads").then(async ({ parentPort }) => {
        const listener = () => undefined;
        parentPort.on("message", listener);
        ${PROBE}
        state.listeners = parentPort.listenerCount("message"); state.injected = globalThis.injected === true;
        parentPort.off("message", listener); parentPort.postMessage(state);
      });`;
      const worker = new Worker(source, { eval: true, workerData });
      const [[state], [code]] = (await Promise.all([once(worker, "message"), once(worker, "exit")])) as [
        [unknown],
        [number],
      ];
      expect(state).toEqual({ self: "undefined", kept: true, code: true, listeners: 1, injected: false });
      expect(code).toBe(0);
    },
  );

  it("works in a Piscina worker", async () => {
    const source = `import { parentPort } from "node:worker_threads"; export default async () => { ${PROBE} return { ...state, listeners: parentPort.listenerCount("message") }; };`;
    const folder = newFolder("test");
    const filename = join(folder, "probe.mjs");
    await writeFile(filename, source);
    const pool = new Piscina({ filename, minThreads: 1, maxThreads: 1 });
    try {
      expect(await pool.run({})).toEqual({ self: "undefined", kept: true, code: true, listeners: 1 });
    } finally {
      await pool.destroy();
      await rm(folder, { recursive: true });
    }
  });

  it("works in a child process, which ends by itself", async () => {
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", `${PROBE} process.stdout.write(JSON.stringify(state));`],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(0);
    expect(JSON.parse(output)).toEqual({ self: "undefined", kept: true, code: true });
  });
});
