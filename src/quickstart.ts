/**
 * `npm run quickstart`: from a circuit to verified proofs, step by step. Starts a real server with a temporary data
 * folder, then uses only the SDK over HTTP. Exits 0 only when every step has its expected result.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PACKAGE_ROOT } from "./platform/files/package-root.js";
import { ProgressLine, type ReportStep } from "./progress-line.js";
import { ProvisioningError, TimeoutError } from "./sdk/errors.js";
import { Proofwright } from "./sdk/proofwright.js";

type Inputs = Record<string, unknown>;

const START_TIMEOUT_MS = 30_000;
/** SHA-256 takes about a minute on two slow cores; after ten minutes something is wrong. */
const PROVISION_TIMEOUT_MS = 600_000;

/** A step did not have its expected result. */
class QuickstartFailure extends Error {
  override readonly name = "QuickstartFailure";
}

/** Runs all steps and removes the temporary folder. Returns exit status 0, or 1 when a step failed. */
export async function runQuickstart(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "proofwright-quickstart-"));
  const line = new ProgressLine(process.stdout);
  let server: ChildProcess | undefined;
  const removeAll = (): void => {
    server?.kill("SIGKILL");
    // Windows removes no file before the process that had it has ended.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("SIGINT", () => {
    removeAll();
    process.exit(130);
  });
  try {
    const started = await line.step("start a server on a free port", async () => await startServer(folder));
    server = started.child;
    line.note(`${started.url} (data in ${folder}, removed at the end)`);
    await mainJob(started.url, line);
    await line.step("stop the server", async () => {
      await stopServer(started.child);
    });
    line.note(
      "Every step had its expected result. `npm start` runs a server that keeps its data; the README shows the same job with curl.",
    );
    return 0;
  } catch (error) {
    if (!(error instanceof QuickstartFailure)) throw error;
    process.stderr.write(`quickstart: ${error.message}\n`);
    return 1;
  } finally {
    removeAll();
  }
}

async function mainJob(url: string, line: ProgressLine): Promise<void> {
  const credentials = { email: `ada.${randomUUID().slice(0, 8)}@example.com`, password: `quick ${randomUUID()}` };
  const user = { ...credentials, first_name: "Ada", last_name: "Lovelace" };
  await line.step("create a user", async () => await new Proofwright({ baseUrl: url }).users.create(user));
  const api = await line.step("log in", async () => await Proofwright.login({ baseUrl: url, ...credentials }));
  await proveCircuit(api, line, "cubic");
  await proveCircuit(api, line, "sha256_preimage");
}

async function proveCircuit(api: Proofwright, line: ProgressLine, identifier: string): Promise<void> {
  line.heading(identifier);
  const { satisfying } = JSON.parse(
    readFileSync(join(PACKAGE_ROOT, "circuits", identifier, "inputs.json"), "utf8"),
  ) as { satisfying: Inputs };
  const id = await line.step(`provision ${identifier}`, async (report) => await provision(api, identifier, report));
  const made = await line.step("prove", async () => await api.provers.prove(id, { witness: satisfying }));
  const { proof } = made;
  line.note(`proof ${proof.slice(0, 32)}… (${String(proof.length / 2)} bytes)`);
  const verify = async (witness: Inputs, candidate: string): Promise<boolean> =>
    (await api.provers.verify(id, { witness, proof: candidate })).result;
  if (!(await line.step("verify it", async () => await verify(satisfying, proof))))
    throw new QuickstartFailure("a valid proof was not accepted");
  const other = await line.step(
    "prove again (the key is warm now)",
    async () => await api.provers.prove(id, { witness: satisfying }),
  );
  if (await line.step("verify a tampered proof", async () => await verify(satisfying, spliced(proof, other.proof))))
    throw new QuickstartFailure("a tampered proof was accepted");
  const wrongInputs = withWrongPublicInput(satisfying, await publicInputNames(api, id));
  if (await line.step("verify with a wrong public input", async () => await verify(wrongInputs, proof)))
    throw new QuickstartFailure("a proof was accepted for another public input");
}

async function provision(api: Proofwright, identifier: string, report: ReportStep): Promise<string> {
  const name = `quickstart ${identifier}`;
  const { id } = await api.provers.create({ identifier, proving_scheme: "groth16", curve: "BN254", name });
  try {
    await api.provers.waitUntilProvisioned(id, {
      timeoutMs: PROVISION_TIMEOUT_MS,
      onProgress: ({ progress, step, remaining_ms }) => {
        report(progress, step, remaining_ms);
      },
    });
    return id;
  } catch (error) {
    if (!(error instanceof ProvisioningError || error instanceof TimeoutError)) throw error;
    throw new QuickstartFailure(`${identifier} failed: ${error.message}`);
  }
}

/** Joins the first point of one proof and the rest of another: well-formed, but no valid proof. */
function spliced(proof: string, other: string): string {
  const pointHex = 64;
  return other.slice(0, pointHex) + proof.slice(pointHex);
}

async function publicInputNames(api: Proofwright, id: string): Promise<readonly string[]> {
  const bytes = await api.provers.artifact(id, "interface.json");
  const { signals } = JSON.parse(Buffer.from(bytes).toString("utf8")) as {
    signals: readonly { name: string; visibility: string }[];
  };
  return signals.filter(({ visibility }) => visibility !== "private").map(({ name }) => name);
}

function withWrongPublicInput(inputs: Inputs, publicNames: readonly string[]): Inputs {
  const name = publicNames.find((candidate) => candidate in inputs);
  if (name === undefined) throw new QuickstartFailure("the circuit has no public input");
  const change = (value: unknown): unknown =>
    Array.isArray(value) ? [change(value[0]), ...(value.slice(1) as unknown[])] : String(value) === "0" ? "1" : "0";
  return { ...inputs, [name]: change(inputs[name]) };
}

async function startServer(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(
    process.execPath,
    [
      join(PACKAGE_ROOT, "dist", "src", "cli.js"),
      "server",
      "--port=0",
      `--data-dir=${join(folder, "data")}`,
      "--mode=development",
      "--log-level=warn",
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const { stdout } = child;
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new QuickstartFailure("the server did not start within 30 s"));
    }, START_TIMEOUT_MS);
    child.once("exit", (status) => {
      reject(new QuickstartFailure(`the server ended at once with status ${String(status)}`));
    });
    createInterface({ input: stdout }).on("line", (text) => {
      const url = /^Proofwright serves .* on (https?:\S+)$/.exec(text)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      child.removeAllListeners("exit");
      resolve({ child, url });
    });
  });
}

/**
 * Ends the server and waits for it. Windows has no signal that asks a single program to end: there it ends at once,
 * which loses nothing that it has answered.
 */
export async function stopServer(child: ChildProcess, platform = process.platform): Promise<void> {
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("exit", (...end) => {
      resolve(end);
    });
    child.kill("SIGTERM");
  });
  if (status === 0 || (platform === "win32" && signal === "SIGTERM")) return;
  throw new QuickstartFailure(`the server stopped with status ${String(status)}`);
}
