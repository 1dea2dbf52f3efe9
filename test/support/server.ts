/** A real server process for end-to-end tests: spawned from dist/, on a free port, with a data folder of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { newFolder } from "./temporary-folder.js";

export type Api = Client<typeof apiRoutes>;

export interface ServerOptions {
  /** Kept across restarts when given; otherwise a temporary folder that `dispose` removes. */
  readonly dataDir?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** `worker` computes for a cluster and takes no requests: its `url` is empty. A server unless given. */
  readonly command?: "server" | "worker";
  /** Path of the program that serves; the server's own command by default. */
  readonly program?: string;
}

export class TestServer {
  readonly dataDir: string;
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything that the server printed, both streams. */
  readonly output: () => string;
  readonly #temporary: string | undefined;

  constructor(parts: {
    dataDir: string;
    url: string;
    child: ChildProcess;
    output: () => string;
    temporary: string | undefined;
  }) {
    this.dataDir = parts.dataDir;
    this.url = parts.url;
    this.child = parts.child;
    this.output = parts.output;
    this.#temporary = parts.temporary;
  }

  /** A client without a token. */
  get anonymous(): Api {
    return createClient({ baseUrl: this.url }, apiRoutes);
  }

  as(token: string): Api {
    return createClient({ baseUrl: this.url, token }, apiRoutes);
  }

  /** Creates a user and logs in. */
  async newUser(): Promise<{
    api: Api;
    token: string;
    refreshToken: string | undefined;
    userId: string;
    email: string;
    password: string;
  }> {
    const email = `user.${randomUUID().slice(0, 13)}@example.com`;
    const password = `phrase ${randomUUID()}`;
    const user = await this.anonymous.createUser({
      body: { email, password, first_name: "Grace", last_name: "Hopper" },
    });
    const login = await this.anonymous.authenticate({ body: { email, password, scope: "offline_access" } });
    const token = login.body.token.access_token;
    return {
      api: this.as(token),
      token,
      refreshToken: login.body.token.refresh_token,
      userId: user.body.id,
      email,
      password,
    };
  }

  /** Sends a signal and waits for the end; the exit status, or null after a signal that kills. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    return await new Promise((resolve) => {
      this.child.once("exit", (status) => {
        resolve(status);
      });
      this.child.kill(signal);
    });
  }

  async dispose(): Promise<void> {
    await this.end("SIGKILL");
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }
}

const FLAGS = ["--port=0", "--log-level=warn", "--rate-limits=false"];

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const temporary = options.dataDir === undefined ? newFolder("test") : undefined;
  const dataDir = options.dataDir ?? join(temporary ?? "", "data");
  const { command = "server" } = options;
  const child = spawn(
    process.execPath,
    [
      options.program ?? join(PACKAGE_ROOT, "dist/src/cli.js"),
      command,
      `--data-dir=${dataDir}`,
      ...FLAGS,
      ...(options.flags ?? []),
    ],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env.PATH,
        TMPDIR: tmpdir(),
        PROOFWRIGHT_HTTP: process.env.PROOFWRIGHT_HTTP,
        // Analyses run after provisioning; only the tests that are about them pay for them.
        PROOFWRIGHT_ANALYSIS_SECONDS: "0",
        ...options.env,
      },
    },
  );
  let printed = "";
  child.stderr.on("data", (chunk: Buffer) => {
    printed += chunk.toString("utf8");
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (status, signal) => {
      reject(new Error(`the server ended (${String(status ?? signal)}): ${printed}`));
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      printed += `${line}\n`;
      const found = /^Proofwright serves (?!metrics).* on (https?:\S+)$/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
      if (line.startsWith("Proofwright computes for the cluster")) resolve("");
    });
  });
  return new TestServer({ dataDir, url, child, output: () => printed, temporary });
}

/** Creates a prover and waits for the end of its provisioning. */
export async function provisioned(api: Api, body: Parameters<Api["createProver"]>[0]["body"]): Promise<string> {
  const created = await api.createProver({ body, preferWaitSec: 300 });
  const { id } = created.body;
  for (;;) {
    const { body: progress } = await api.getProverStatus({ params: { id } });
    if (progress.status === "failed") throw new Error(progress.errors.map(({ message }) => message).join("; "));
    if (progress.finished) return id;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
}
