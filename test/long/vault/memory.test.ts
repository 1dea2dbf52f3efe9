// How much of the keys is found by a reader of the process memory (Linux; the probe reads /proc/self/mem).
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { newFolder } from "../../support/temporary-folder.js";

const PROBE = fileURLToPath(new URL("memory-probe.mjs", import.meta.url));

it("leaves no copy of phrase, entropy, master key, record key or any key's material in memory within 6 s of sealing", async () => {
  const folder = newFolder("memory");
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", PROBE, folder], { timeout: 600_000 });
  await rm(folder, { recursive: true, force: true });
  const { unsealed, sealed } = JSON.parse(stdout) as Record<"unsealed" | "sealed", Record<string, number>>;
  // The record key is in use while unsealed; finding it shows that the probe works.
  expect(unsealed.record_key).toBeGreaterThan(0);
  // Handles of entropy and KEK may wait for the worker's garbage collector; the phrase is only ever in bytes that are
  // overwritten.
  expect(unsealed.phrase).toBe(0);
  for (const name of [
    "phrase",
    "entropy",
    "kek",
    "master_key",
    "record_key",
    "ChaCha20",
    "secp256k1",
    "Ed25519 reversed",
    "RSA-2048",
    "babyJubJub",
    "BIP39",
  ])
    expect(Object.keys(sealed)).toContain(name);
  // OpenSSL's encoder frees its buffer without overwriting it when a new RSA or P-256 key is written as DER: a copy of
  // a key that was made since the start may lie there until the memory is used again (THREAT-MODEL.md).
  const made = new Set(["RSA-2048", "P-256"]);
  expect(Object.entries(sealed).filter(([name, count]) => count > (made.has(name) ? 1 : 0))).toEqual([]);
});
