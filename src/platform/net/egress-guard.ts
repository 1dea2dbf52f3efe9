/**
 * The egress guard (OWASP API7:2023): what a URL's form must be, what its name may resolve to, and connections to
 * exactly the address that was checked, with the URL's own name in SNI and Host. A name is resolved once per
 * connection, so that nothing can change between check and use. Redirects are not followed.
 */
import { lookup as systemLookup } from "node:dns/promises";
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AppError } from "../errors.js";
import { isPublicAddress, type AllowList } from "./address-rules.js";
import type { Egress, EgressAnswer, EgressRequest, EgressTarget } from "./egress.js";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface GuardOptions {
  /** What may be reached although it lies inside, has another port, or speaks plain HTTP. */
  readonly allow: AllowList;
  /** Ports of public addresses that may be reached. */
  readonly ports: readonly number[];
}

export interface GuardDependencies {
  /** The system's resolver unless given. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

export interface EgressGuard extends Egress {
  /** Closes the connections that are kept for further requests. */
  close(): void;
}

const TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const URL_LENGTH_MAX = 2_000;
/** Connections to one peer at a time; more requests wait for one of them. */
const SOCKETS_PER_HOST_MAX = 64;
const IDLE_SOCKETS_MAX = 256;
/** Shorter than what servers keep them open for, so that few requests meet a closing one. */
const IDLE_MS = 4_000;
const ANSWER_HEADER_BYTES_MAX = 16 * 1024;
/** Names that mean this machine or its network wherever they are asked (RFC 6761, RFC 6762, RFC 8375). */
const INSIDE_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa|in-addr\.arpa|ip6\.arpa)$/;
/** What resolvers take as names; WHATWG has decoded IPv4 in all its spellings already. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;
/** Headers that decide where a request goes or where it ends are the guard's. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "transfer-encoding",
  "content-length",
  "upgrade",
  "expect",
  "proxy-authorization",
]);

interface Target {
  /** Lower case, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Plain HTTP goes to listed targets only. */
  readonly isPlain: boolean;
}

export function createEgressGuard(options: GuardOptions, dependencies: GuardDependencies = {}): EgressGuard {
  return new Guard(options, dependencies);
}

class Guard implements EgressGuard {
  readonly #allow: AllowList;
  readonly #ports: ReadonlySet<number>;
  readonly #resolve: NonNullable<GuardDependencies["resolve"]>;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor({ allow, ports }: GuardOptions, { resolve }: GuardDependencies) {
    this.#allow = allow;
    this.#ports = new Set(ports);
    this.#resolve = resolve ?? (async (host) => await systemLookup(host, { all: true, verbatim: true }));
    const pool = {
      keepAlive: true,
      maxSockets: SOCKETS_PER_HOST_MAX,
      maxFreeSockets: IDLE_SOCKETS_MAX,
      timeout: IDLE_MS,
      scheduling: "lifo" as const,
    };
    this.#http = new HttpAgent(pool);
    this.#https = new HttpsAgent(pool);
  }

  checkUrl(text: string): void {
    this.#target(text);
  }

  async fetch(text: string, request: EgressRequest = {}): Promise<EgressAnswer> {
    const { url, target } = this.#target(text);
    request.signal?.throwIfAborted();
    const deadline = AbortSignal.timeout(Math.ceil(request.timeoutMs ?? TIMEOUT_MS));
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    try {
      const { incoming, isNewConnection } = await this.#send(url, target, request, signal);
      return { ...(await readAnswer(incoming, request.answerBytesMax ?? ANSWER_BYTES_MAX)), isNewConnection };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw failureOf(error, deadline.aborted);
    }
  }

  async connect(asked: EgressTarget): Promise<Socket> {
    const bracketed = asked.host.includes(":") && !asked.host.startsWith("[") ? `[${asked.host}]` : asked.host;
    // As https, because the protocol is the caller's: only the place is judged here, unless its plain form is for
    // listed ones.
    const { target } = this.#target(
      `${asked.isListedOnly === true ? "http" : "https"}://${bracketed}:${String(asked.port)}/`,
      asked.host,
    );
    const deadline = AbortSignal.timeout(Math.ceil(asked.timeoutMs ?? TIMEOUT_MS));
    try {
      const addresses = await untilAborted(this.#addresses(target), deadline);
      return await connectFirst(addresses, target, { tls: asked.tls === true, deadline });
    } catch (error) {
      throw failureOf(error, deadline.aborted);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  async #send(
    url: URL,
    target: Target,
    { method = "GET", headers = {}, body }: EgressRequest,
    signal: AbortSignal,
  ): Promise<{ incoming: IncomingMessage; isNewConnection: boolean }> {
    const isTls = url.protocol === "https:";
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name.toLowerCase())));
    const options = {
      method,
      signal,
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
      lookup: this.#lookup(target),
      agent: isTls ? this.#https : this.#http,
      headers: {
        accept: "application/json",
        ...kept,
        ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      },
    };
    return await new Promise((resolve, reject) => {
      const outgoing: ClientRequest = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.once("response", (incoming) => {
        resolve({ incoming, isNewConnection: !outgoing.reusedSocket });
      });
      outgoing.once("error", reject);
      outgoing.on("upgrade", (_incoming, socket) => {
        socket.destroy();
      });
      outgoing.end(body);
    });
  }

  /** Resolution for a new connection of the pool; never asked for addresses, which #target has judged. */
  #lookup(target: Target): LookupFunction {
    return (_host, { all }, callback) => {
      this.#addresses(target)
        .then((addresses) => {
          const [first] = addresses;
          if (first === undefined) throw new AppError("egress_unreachable", { message: "the name has no address" });
          if (all === true) callback(null, [...addresses]);
          else callback(null, first.address, first.family);
        })
        .catch((error: unknown) => {
          callback(error as Error, "", 0);
        });
    };
  }

  /** Every address of a name must be fit: one that points inside among others is an attack or a mistake. */
  async #addresses({ host, port, isPlain }: Target): Promise<readonly ResolvedAddress[]> {
    const literal = isIP(host);
    const found = literal === 0 ? await this.#resolve(host) : [{ address: host, family: literal }];
    if (found.length === 0) throw new AppError("egress_unreachable", { message: "the name has no address" });
    if (this.#allow.allowsHost(host, port)) return found;
    for (const { address } of found) {
      const isListed = this.#allow.allowsAddress(address, port);
      if (!isListed && (isPlain || !this.#ports.has(port) || !isPublicAddress(address)))
        throw refused("the URL leads to a place that may not be reached");
    }
    return found;
  }

  /** Judges all that can be judged without resolving. Throws `egress_refused`. */
  #target(text: string, exactHost?: string): { url: URL; target: Target } {
    if (text.length > URL_LENGTH_MAX) throw refused("the URL is too long");
    if (!URL.canParse(text)) throw refused("this is not a URL");
    const url = new URL(text);
    if (url.protocol !== "https:" && url.protocol !== "http:") throw refused("only https URLs are reached");
    if (url.username !== "" || url.password !== "" || /^[a-z]+:[\\/]*[^\\/?#]*@/i.test(text))
      throw refused("the URL carries a user name or password");
    // A dot at the end names the same host and would slip past lists.
    const host = url.hostname
      .replace(/^\[|\]$/g, "")
      .replace(/\.$/, "")
      .toLowerCase();
    if (exactHost !== undefined && /[\s/?#@\\%]/.test(exactHost)) throw refused("this is not a host name");
    const target: Target = {
      host,
      port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      isPlain: url.protocol === "http:",
    };
    this.#judgePlace(target);
    return { url, target };
  }

  #judgePlace({ host, port, isPlain }: Target): void {
    if (this.#allow.allowsHost(host, port)) return;
    if (isIP(host) !== 0) {
      if (this.#allow.allowsAddress(host, port)) return;
      if (!isPublicAddress(host)) throw refused("the URL leads to a place that may not be reached");
    } else {
      if (!HOST_NAME.test(host)) throw refused("the URL has no sound host name");
      if (this.#allow.mayAllowPort(port)) return;
      if (INSIDE_NAME.test(host) || !host.includes("."))
        throw refused("the URL leads to a place that may not be reached");
    }
    if (isPlain) throw refused("the URL is not https");
    if (!this.#ports.has(port)) throw refused("the port is not among those that are reached");
  }
}

async function readAnswer(incoming: IncomingMessage, bytesMax: number): Promise<EgressAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) {
      incoming.destroy();
      throw new AppError("egress_answer_too_large", { message: `the answer is longer than ${String(bytesMax)} bytes` });
    }
    chunks.push(chunk);
  }
  if (!incoming.complete) throw new AppError("egress_unreachable", { message: "the answer was cut off" });
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : String(value),
    ]),
  );
  return {
    status: incoming.statusCode ?? 0,
    headers,
    body: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length),
  };
}

/** Tries the checked addresses in turn. */
async function connectFirst(
  addresses: readonly ResolvedAddress[],
  { host, port }: Target,
  { tls, deadline }: { readonly tls: boolean; readonly deadline: AbortSignal },
): Promise<Socket> {
  let last: unknown;
  for (const { address } of addresses) {
    deadline.throwIfAborted();
    try {
      return await connectTo(address, port, { serverName: tls ? host : undefined, deadline });
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function connectTo(
  address: string,
  port: number,
  { serverName, deadline }: { readonly serverName: string | undefined; readonly deadline: AbortSignal },
): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket =
      serverName === undefined
        ? connectTcp({ host: address, port })
        : connectTls({ host: address, port, ...(isIP(serverName) === 0 ? { servername: serverName } : {}) });
    const settle = (act: () => void): void => {
      deadline.removeEventListener("abort", onDeadline);
      socket.removeListener("error", onError);
      act();
    };
    const onError = (error: Error): void => {
      settle(() => {
        socket.destroy();
        reject(error);
      });
    };
    const onDeadline = (): void => {
      onError(new Error("no connection in time"));
    };
    socket.once("error", onError);
    deadline.addEventListener("abort", onDeadline, { once: true });
    socket.once(serverName === undefined ? "connect" : "secureConnect", () => {
      settle(() => {
        resolve(socket);
      });
    });
  });
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", onAbort);
    });
  });
}

function failureOf(error: unknown, isLate: boolean): AppError {
  if (error instanceof AppError) return error;
  if (isLate) return new AppError("egress_timeout", { message: "the other side did not answer in time", cause: error });
  return new AppError("egress_unreachable", { message: "the other side cannot be reached", cause: error });
}

function refused(message: string): AppError {
  return new AppError("egress_refused", { message });
}
