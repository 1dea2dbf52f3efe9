/**
 * Groth16 keys that are made once and not once a test file. The second key of a circuit within a file is another than
 * the first, as two set-ups of the server make two keys.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { makeGroth16Key, type MakeKeyResult } from "../../src/engine/groth16/make-key.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { KeptResults } from "./kept-results.js";

const KEPT = new KeptResults<MakeKeyResult>({
  folder: "test-keys",
  madeWith: [join(PACKAGE_ROOT, "src/engine")],
});
/** Set-ups of each circuit so far in this process. */
const counts = new Map<string, number>();

/** As `makeGroth16Key` with its default options. */
export async function makeKeyOnce(r1cs: Uint8Array): Promise<MakeKeyResult> {
  const circuit = createHash("sha256").update(r1cs).digest("hex");
  const count = counts.get(circuit) ?? 0;
  counts.set(circuit, count + 1);
  return await KEPT.get(
    `${circuit}-${count}`,
    async () => await makeGroth16Key(r1cs),
    ({ ok }) => ok,
  );
}
