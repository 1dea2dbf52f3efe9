/** A Chromium without a window, driven over its DevTools protocol: opens one page, runs scripts in it, tells its errors. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import WebSocket from "ws";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

const LISTENING = /DevTools listening on (ws:\S+)/;

export class Chromium {
  /** Errors of scripts, and what the page's policy refused. */
  readonly complaints: string[] = [];
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #session: string | undefined;
  #next = 1;

  private constructor(child: ChildProcess, folder: string, socket: WebSocket) {
    this.#child = child;
    this.#folder = folder;
    this.#socket = socket;
    socket.on("message", (data: Buffer) => {
      this.#take(JSON.parse(data.toString("utf8")) as Reply);
    });
  }

  /** Starts the program `chromium`; throws when there is none. */
  static async start(): Promise<Chromium> {
    const folder = newFolder("chromium");
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
    const child = spawn(
      "chromium",
      [...flags, "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"],
      {
        stdio: ["ignore", "ignore", "pipe"],
        // A group of its own, so that nothing of it writes any longer when its folder is removed.
        detached: true,
      },
    );
    const url = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => {
        reject(new Error(`chromium ended with code ${String(code)}`));
      });
      createInterface({ input: child.stderr }).on("line", (line) => {
        const found = LISTENING.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, "open");
    return new Chromium(child, folder, socket);
  }

  /** Opens a page. */
  async open(url: string): Promise<void> {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    this.#session = String(sessionId);
    await this.#send("Runtime.enable", {});
    await this.#send("Log.enable", {});
    await this.#send("Page.enable", {});
    await this.#send("Page.navigate", { url });
  }

  /** Runs an expression in the page, and returns its value. */
  async run(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#send("Runtime.evaluate", options)) as {
      result: { value?: unknown };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async stop(): Promise<void> {
    this.#socket.close();
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, "exit");
      process.kill(-Number(this.#child.pid), "SIGKILL");
      await ended;
    }
    removeFolder(this.#folder);
  }

  async #send(method: string, params: object): Promise<Record<string, unknown>> {
    const id = this.#next;
    this.#next += 1;
    const reply = await new Promise<Reply>((resolve) => {
      this.#waiting.set(id, resolve);
      const session = this.#session === undefined ? {} : { sessionId: this.#session };
      this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    });
    if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`);
    return reply.result ?? {};
  }

  #take(reply: Reply): void {
    if (reply.id !== undefined) {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
      return;
    }
    if (reply.method === "Runtime.exceptionThrown") this.complaints.push(JSON.stringify(reply.params));
    const entry = reply.params?.["entry"] as { level?: string; text?: string; url?: string } | undefined;
    if (reply.method === "Log.entryAdded" && entry?.level === "error")
      this.complaints.push(`${entry.text ?? ""} ${entry.url ?? ""}`);
  }
}
