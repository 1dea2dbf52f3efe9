/**
 * The egress guard (OWASP API7:2023). It checks the form of a URL and every address to which its name resolves, and
 * connects to exactly the address that it checked, with the URL's own name in SNI and Host. A name is resolved once per
 * connection, so that nothing can change between check and use. Redirects are not followed.
 */
import { lookup as systemLookup } from "node:dns/promises";
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { unlessAborted } from "../concurrency/unless-aborted.js";
import { AppError } from "../errors.js";
import { isPublicAddress, type AllowList } from "./address-rules.js";
import type { Egress, EgressAnswer, EgressRequest, EgressTarget } from "./egress.js";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface GuardOptions {
  /** Targets that may be reached although they are internal, have another port, or use plain HTTP. */
  readonly allow: AllowList;
  /** Ports of public addresses that may be reached. */
  readonly ports: readonly number[];
}

export interface GuardDependencies {
  /** The system's resolver unless given. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

export interface EgressGuard extends Egress {
  /** Closes the idle connections. */
  close(): void;
}

const TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const URL_LENGTH_MAX = 2_000;
/** Connections to one peer at a time; further requests wait for a free one. */
const SOCKETS_PER_HOST_MAX = 64;
const IDLE_SOCKETS_MAX = 256;
/** Shorter than the usual idle timeout of servers, so that few requests meet a closing connection. */
const IDLE_MS = 4_000;
const ANSWER_HEADER_BYTES_MAX = 16 * 1024;
/** Names that mean the resolver's own machine or network (RFC 6761, RFC 6762, RFC 8375). */
const INTERNAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa|in-addr\.arpa|ip6\.arpa)$/;
/** Host names that resolvers accept. The WHATWG URL parser has already decoded IPv4 in all its spellings. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;
/** Headers that decide the target or the end of a request; only the guard sets them. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
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
  /** Plain HTTP, which is allowed to listed targets only. */
  readonly isPlain: boolean;
}

/** Creates the guard. It keeps connections alive for further requests until `close`. */
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
      const { incoming, isNewConnection } = await this.#send(url, { target, request, signal });
      const answer = readAnswer(incoming, request).catch((error: unknown) => {
        if (request.isStatusEnough !== true) throw error;
        return { ...headOf(incoming), body: new Uint8Array() };
      });
      return { ...(await answer), isNewConnection };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw failureOf(error, deadline);
    }
  }

  async connect(request: EgressTarget): Promise<Socket> {
    const { host } = request;
    const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    // The caller chooses the protocol, so only host and port are checked, as for https; for targets that must be
    // listed they are checked as for plain HTTP.
    const { target } = this.#target(
      `${request.isListedOnly === true ? "http" : "https"}://${bracketed}:${String(request.port)}/`,
      host,
    );
    const deadline = AbortSignal.timeout(Math.ceil(request.timeoutMs ?? TIMEOUT_MS));
    try {
      const addresses = await unlessAborted(this.#addresses(target), deadline);
      return await connectFirst(addresses, target, { tls: request.tls === true, deadline });
    } catch (error) {
      throw failureOf(error, deadline);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  async #send(
    url: URL,
    { target, request, signal }: { target: Target; request: EgressRequest; signal: AbortSignal },
  ): Promise<{ incoming: IncomingMessage; isNewConnection: boolean }> {
    const { method = "GET", headers = {}, body } = request;
    const isTls = url.protocol === "https:";
    const allowed = Object.fromEntries(
      Object.entries(headers).filter(([name]) => !RESERVED_HEADERS.has(name.toLowerCase())),
    );
    const options = {
      method,
      signal,
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
      lookup: this.#lookup(target),
      agent: isTls ? this.#https : this.#http,
      headers: {
        accept: "application/json",
        ...allowed,
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

  /** Resolves the name for a new connection of the pool. Not called for literal addresses, which #target checks. */
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

  /** Resolves a name and checks every address: one internal address among others is an attack or a mistake. */
  async #addresses({ host, port, isPlain }: Target): Promise<readonly ResolvedAddress[]> {
    const literal = isIP(host);
    const found = literal === 0 ? await this.#resolve(host) : [{ address: host, family: literal }];
    if (found.length === 0) throw new AppError("egress_unreachable", { message: "the name has no address" });
    if (this.#allow.allowsHost(host, port)) return found;
    for (const { address } of found) {
      const isListed = this.#allow.allowsAddress(address, port);
      if (!isListed && (isPlain || !this.#ports.has(port) || !isPublicAddress(address)))
        throw refused("the URL leads to an address that is not allowed");
    }
    return found;
  }

  /** Checks all that can be checked without resolving the name. Throws `egress_refused`. */
  #target(text: string, exactHost?: string): { url: URL; target: Target } {
    if (text.length > URL_LENGTH_MAX) throw refused("the URL is too long");
    if (!URL.canParse(text)) throw refused("the text is not a URL");
    const url = new URL(text);
    if (url.protocol !== "https:" && url.protocol !== "http:") throw refused("the URL must use https");
    if (url.username !== "" || url.password !== "" || /^[a-z]+:[\\/]*[^\\/?#]*@/i.test(text))
      throw refused("the URL must not contain a user name or password");
    // A dot at the end names the same host, and would otherwise not match the lists.
    const host = url.hostname
      .replace(/^\[|\]$/g, "")
      .replace(/\.$/, "")
      .toLowerCase();
    if (exactHost !== undefined && /[\s/?#@\\%]/.test(exactHost)) throw refused("the host name is not valid");
    const target: Target = {
      host,
      port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      isPlain: url.protocol === "http:",
    };
    this.#checkTarget(target);
    return { url, target };
  }

  #checkTarget({ host, port, isPlain }: Target): void {
    if (this.#allow.allowsHost(host, port)) return;
    if (isIP(host) !== 0) {
      if (this.#allow.allowsAddress(host, port)) return;
      if (!isPublicAddress(host)) throw refused("the URL leads to an address that is not allowed");
    } else {
      if (!HOST_NAME.test(host)) throw refused("the host name of the URL is not valid");
      if (this.#allow.mayAllowPort(port)) return;
      if (INTERNAL_NAME.test(host) || !host.includes("."))
        throw refused("the URL leads to an address that is not allowed");
    }
    if (isPlain) throw refused("the URL must use https");
    if (!this.#ports.has(port)) throw refused("the port of the URL is not allowed");
  }
}

async function readAnswer(
  incoming: IncomingMessage,
  { answerBytesMax: bytesMax = ANSWER_BYTES_MAX, reducer }: EgressRequest,
): Promise<EgressAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) {
      incoming.destroy();
      throw new AppError("egress_answer_too_large", { message: `the answer is longer than ${String(bytesMax)} bytes` });
    }
    if (reducer === undefined) chunks.push(chunk);
    else reducer.push(chunk);
  }
  if (!incoming.complete) throw new AppError("egress_unreachable", { message: "the answer was cut off" });
  return { ...headOf(incoming), body: reducer === undefined ? joined(chunks, length) : reducer.end() };
}

function headOf(incoming: IncomingMessage): Pick<EgressAnswer, "status" | "headers"> {
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : String(value),
    ]),
  );
  return { status: incoming.statusCode ?? 0, headers };
}

function joined(chunks: readonly Buffer[], length: number): Uint8Array {
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
}

/** Tries the checked addresses one after the other. Rejects with the last failure. */
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

function failureOf(error: unknown, deadline: AbortSignal): AppError {
  if (error instanceof AppError) return error;
  if (deadline.aborted)
    return new AppError("egress_timeout", { message: "the other side did not answer in time", cause: error });
  return new AppError("egress_unreachable", { message: "the other side cannot be reached", cause: error });
}

function refused(message: string): AppError {
  return new AppError("egress_refused", { message });
}
