// How much of the keys is found by a reader of the process memory (Linux; the probe reads /proc/self/mem).
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { newFolder } from "../../support/temporary-folder.js";

const PROBE = fileURLToPath(new URL("memory-probe.mjs", import.meta.url));

/** Runs the probe in a process of its own. Returns what it prints. */
async function probe(mode: "make" | "scan", folder: string): Promise<string> {
  const argv = ["--expose-gc", PROBE, mode, folder];
  return (await promisify(execFile)(process.execPath, argv, { timeout: 600_000 })).stdout;
}

it("leaves no copy of phrase, entropy, master key, record key or any key's material in memory soon after sealing", async () => {
  const folder = newFolder("memory");
  await probe("make", folder);
  const stdout = await probe("scan", folder);
  await rm(folder, { recursive: true, force: true });
  const { unsealed, wanted, found } = JSON.parse(stdout) as {
    readonly unsealed: Readonly<Record<string, number>>;
    readonly wanted: readonly string[];
    readonly found: readonly (readonly [name: string, count: number])[];
  };
  // The record key is in use while unsealed; finding it shows that the probe works.
  expect(unsealed.record_key).toBeGreaterThan(0);
  // Handles of entropy and KEK may wait for the worker's garbage collector; the phrase is only ever in bytes that are
  // overwritten.
  expect(unsealed.phrase).toBe(0);
  const kinds = ["ChaCha20", "secp256k1", "Ed25519", "P-256", "RSA-2048", "babyJubJub", "BIP39"];
  const keys = kinds.flatMap((kind) => (kind === "ChaCha20" ? [kind] : [kind, `new ${kind}`]));
  const forms = keys.flatMap((key) => [key, `${key} reversed`]);
  expect(new Set(wanted)).toEqual(new Set(["phrase", "entropy", "kek", "master_key", "record_key", ...forms]));
  expect(found).toEqual([]);
});
