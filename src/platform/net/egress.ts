/**
 * The egress port: every connection to an address that a user supplied goes through it. Its implementation is
 * egress-guard.ts, which resolves a name once, rejects internal addresses, and connects to the address that it checked
 * (OWASP API7:2023).
 */
import type { Socket } from "node:net";

export interface EgressRequest {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Milliseconds from the start of the request to the end of the answer. Default 5,000. */
  readonly timeoutMs?: number;
  /** A longer answer fails with `egress_answer_too_large`. Default 1 MiB. */
  readonly answerBytesMax?: number;
  /** Takes the body of the answer as it comes, where it would be too long to be kept. */
  readonly reducer?: BodyReducer;
  /** True where the status says all: an answer that is too long, too slow or cut off is returned without its body. */
  readonly isStatusEnough?: boolean;
  readonly signal?: AbortSignal;
}

/** Reads a body of which only a part is of use. */
export interface BodyReducer {
  push(chunk: Uint8Array): void;
  /** Returns what the answer has as its body. */
  end(): Uint8Array;
}

/** The answer of the other side. Redirects are not followed: a 3xx is returned like any other status. */
export interface EgressAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** True when the request opened a new connection, so that another server may have answered than before. */
  readonly isNewConnection?: boolean;
}

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean;
  /** True to allow only targets that the operator listed, as for plain HTTP. */
  readonly isListedOnly?: boolean;
  readonly timeoutMs?: number;
}

export interface Egress {
  /** Throws `egress_refused` (422) when a URL can never be fetched, because of its form. Does not resolve names. */
  checkUrl(url: string): void;
  /**
   * Sends one HTTP request. No error message repeats what the other side sent.
   * @throws egress_refused when the URL, or an address to which its name resolves, is internal
   * @throws egress_timeout, egress_unreachable, egress_answer_too_large
   */
  fetch(url: string, request?: EgressRequest): Promise<EgressAnswer>;
  /**
   * Opens a TCP or TLS connection to a checked address, for protocols other than HTTP. Fails as `fetch` does. The
   * caller must close the socket.
   */
  connect(target: EgressTarget): Promise<Socket>;
}
