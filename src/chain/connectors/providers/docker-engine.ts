/**
 * Requests to a Docker engine (Engine API, docs.docker.com/reference/api/engine) over a unix socket or TCP. The
 * operator sets the address, so that no egress guard is needed. The version is the newest that both sides know.
 */
import { request, type IncomingMessage } from "node:http";
import { AppError } from "../../../platform/errors.js";

interface EngineRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

interface EngineAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: IncomingMessage["headers"];
}

/** The newest version of the API that this code was written for. */
const API_VERSION_MAX = "1.47";
const TIMEOUT_MS = 10_000;
/** The progress of a large pull is some MiB of lines. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

export class DockerEngine {
  readonly #target: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  #version: string | undefined;

  /** @param host `unix:///path` or `tcp://host:port` */
  constructor(host: string) {
    const url = new URL(host);
    this.#target =
      url.protocol === "unix:"
        ? { socketPath: decodeURIComponent(url.pathname) }
        : { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || "2375") };
  }

  /** Host at which this server reaches the ports that the engine publishes. */
  get publishedHost(): string {
    return "socketPath" in this.#target ? "127.0.0.1" : this.#target.host;
  }

  /** True when the engine runs on this machine, so that both have one loopback interface. */
  get isLocal(): boolean {
    return "socketPath" in this.#target || ["127.0.0.1", "localhost", "::1"].includes(this.#target.host);
  }

  /**
   * Sends one request below the negotiated version. Throws `connector_unreachable` and `connector_timeout`; the caller
   * checks the status.
   */
  async ask(path: string, options: EngineRequest): Promise<EngineAnswer> {
    this.#version ??= await this.#negotiate(options.signal);
    const query = new URLSearchParams(options.query).toString();
    return await this.#send(`/v${this.#version}${path}${query === "" ? "" : `?${query}`}`, options);
  }

  async #negotiate(signal: AbortSignal): Promise<string> {
    const { status, headers } = await this.#send("/_ping", { signal });
    const offered = headers["api-version"];
    if (status !== 200 || typeof offered !== "string" || !/^[0-9]+\.[0-9]+$/.test(offered))
      throw new AppError("connector_unreachable", {
        message: "the service at PROOFWRIGHT_DOCKER_HOST is no Docker engine",
      });
    return isNewer(offered, API_VERSION_MAX) ? API_VERSION_MAX : offered;
  }

  async #send(
    path: string,
    { method = "GET", json, timeoutMs = TIMEOUT_MS, signal }: EngineRequest,
  ): Promise<EngineAnswer> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    try {
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = request(
          {
            ...this.#target,
            method,
            path,
            agent: false,
            signal: AbortSignal.any([signal, deadline]),
            headers: {
              host: "docker",
              connection: "close",
              ...(body === undefined
                ? {}
                : { "content-type": "application/json", "content-length": String(body.length) }),
            },
          },
          resolve,
        );
        outgoing.once("error", reject);
        outgoing.end(body);
      });
      return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: await readAll(incoming) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError) throw error;
      if (deadline.aborted)
        throw new AppError("connector_timeout", { message: "the Docker engine did not answer in time", cause: error });
      throw new AppError("connector_unreachable", { message: "the Docker engine cannot be reached", cause: error });
    }
  }
}

/** Returns the JSON of an answer. Throws `connector_provider_failed`. */
export function engineJson({ body }: EngineAnswer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new AppError("connector_provider_failed", {
      message: "the Docker engine's answer is not JSON",
      cause: error,
    });
  }
}

/**
 * Throws `connector_unreachable` for 5xx and `connector_provider_failed` for any other status that is not expected.
 * @param tried what was tried, for the message: "the Docker engine refused to ..."
 */
export function requireStatus(answer: EngineAnswer, expected: readonly number[], tried: string): void {
  if (expected.includes(answer.status)) return;
  // 5xx may be temporary; the job tries again.
  if (answer.status >= 500)
    throw new AppError("connector_unreachable", {
      message: `the Docker engine could not ${tried} (${String(answer.status)})`,
    });
  throw new AppError("connector_provider_failed", {
    message: `the Docker engine refused to ${tried} (${String(answer.status)})`,
  });
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX)
      throw new AppError("connector_provider_failed", { message: "the Docker engine's answer is too long" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isNewer(one: string, other: string): boolean {
  const [major = 0, minor = 0] = one.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major > otherMajor || (major === otherMajor && minor > otherMinor);
}
