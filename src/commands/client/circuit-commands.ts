/** `proofwright circuit`: a circuit's folder is begun, compiled here, and deployed as a prover. */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { compileCircuit } from "../../engine/circuit/compile-circuit.js";
import { StartError } from "../../platform/start-error.js";
import { canonicalCurve } from "../../prover/curve-names.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import type { Prover } from "../../sdk/types.js";
import { ProgressLine } from "../../progress-line.js";
import { MANIFEST_FILE, MANIFEST_SCHEMA, readCircuitFolder, type CircuitFolder } from "./circuit-folder.js";
import { printResult } from "./print-result.js";
import { signedIn, type ClientFlags } from "./signed-in.js";

/** Member of the prover's free data by which the same source is found again. */
const HASH_MEMBER = "deployed_sha256";
const CURVES = ["BN254", "BLS12_381"] as const;
const FIRST_CIRCUIT = `pragma circom 2.1.0;

// Knowledge of two factors of c.
template Product() {
    signal input a;
    signal input b;
    signal output c;

    c <== a * b;
}

component main = Product();
`;

/**
 * Writes `proofwright.json` and a first circuit into a folder.
 * @throws StartError when one of them is there already; nothing is written then but perhaps the circuit
 */
export async function runCircuitInit(path: string, flags: ClientFlags): Promise<number> {
  const folder = resolve(path);
  const manifest = { name: basename(folder), main: "main.circom", scheme: "groth16", curve: "BN254" };
  await mkdir(folder, { recursive: true });
  await writeNew(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeNew(join(folder, "main.circom"), FIRST_CIRCUIT);
  printResult(flags, { folder, manifest }, () => [
    `${folder} has a circuit. Try \`proofwright circuit check ${path}\`, then \`proofwright circuit deploy ${path}\`.`,
  ]);
  return 0;
}

/** Prints the JSON schema of `proofwright.json`. */
export function printManifestSchema(): number {
  process.stdout.write(`${JSON.stringify(MANIFEST_SCHEMA, null, 2)}\n`);
  return 0;
}

/** Compiles a folder's circuit on this machine. Returns 0 when it compiles, 1 otherwise. */
export async function runCircuitCheck(path: string, flags: ClientFlags): Promise<number> {
  const { manifest, files } = await readCircuitFolder(path);
  const named = canonicalCurve(manifest.curve, CURVES);
  const curve = CURVES.find((known) => known === named);
  if (curve === undefined)
    throw new StartError(`"${manifest.curve}" cannot be compiled for here; the curves are ${CURVES.join(" and ")}.`);
  const result = await compileCircuit({ sources: files, main: manifest.main, curve, ...manifest.options });
  const findings = result.ok ? result.warnings : result.diagnostics;
  printResult(flags, { ok: result.ok, findings, ...(result.ok ? { compiler: result.compiler } : {}) }, () => [
    ...findings.map((finding) => describeFinding(finding)),
    result.ok ? `${manifest.name} compiles with ${result.compiler}.` : `${manifest.name} does not compile.`,
  ]);
  return result.ok ? 0 : 1;
}

/**
 * Makes a prover of a folder, and waits for its keys. The same source with the same options is deployed once: the
 * prover that has it is answered again.
 * @throws ProvisioningError with what the compiler said
 */
export async function runCircuitDeploy(path: string, flags: ClientFlags): Promise<number> {
  const folder = await readCircuitFolder(path);
  const client = await signedIn(flags);
  const existing = await findDeployed(client, folder);
  const created = existing ?? (await client.provers.create(proverOf(folder)));
  const prover = await whenReady(client, created);
  printResult(flags, { id: prover.id, created: existing === undefined, prover }, () => [
    existing === undefined
      ? `${prover.name} is deployed as ${prover.id}.`
      : `${prover.name} was deployed from this source before, as ${prover.id}. Nothing changed.`,
  ]);
  return 0;
}

/** Lists the caller's provers. */
export async function runCircuitList(flags: ClientFlags): Promise<number> {
  const provers = await (await signedIn(flags)).provers.list().all();
  printResult(flags, provers, () =>
    provers.length === 0
      ? ["No circuit is deployed. `proofwright circuit deploy FOLDER` deploys one."]
      : provers.map(({ id, status, proving_scheme: scheme, curve, name }) =>
          [id, status.padEnd(12), scheme.padEnd(8), curve.padEnd(10), name].join("  "),
        ),
  );
  return 0;
}

async function findDeployed(client: Proofwright, { hash }: CircuitFolder): Promise<Prover | undefined> {
  const same = await client.provers.list({ meta: { [HASH_MEMBER]: hash } }).all();
  return same.findLast(({ status }) => status !== "failed");
}

function proverOf({ manifest, files, hash }: CircuitFolder): Parameters<Proofwright["provers"]["create"]>[0] {
  const { name, main, scheme, curve, description, strict, tags, options } = manifest;
  return {
    ...{ name, main, proving_scheme: scheme, curve, strict, options, source: { ...files } },
    meta: { [HASH_MEMBER]: hash },
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
  };
}

/** A bar on a terminal; a log of a machine gets nothing that moves. */
async function whenReady(client: Proofwright, { id, name }: Prover): Promise<Prover> {
  if (!process.stderr.isTTY) return await client.provers.waitUntilProvisioned(id);
  return await new ProgressLine(process.stderr).step(name, async (report) =>
    client.provers.waitUntilProvisioned(id, {
      onProgress: ({ progress, step, remaining_ms }) => report(progress, step, remaining_ms),
    }),
  );
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST")
      throw new StartError(`${path} exists already; it stays as it is.`);
    throw error;
  }
}

function describeFinding(finding: {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}): string {
  const { file, line, column, message } = finding;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return place === "" ? message : `${place}: ${message}`;
}
