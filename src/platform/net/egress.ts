/**
 * The egress port: every connection to an address that a user supplied goes through it. Behind it: the guard of
 * guard.ts, which resolves a name once, refuses what points inside, and connects to the very address that it checked
 * (OWASP API7:2023).
 */
import type { Socket } from "node:net";

export interface EgressRequest {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** From the first byte out to the last byte in. Default 5,000. */
  readonly timeoutMs?: number;
  /** A longer answer is `egress_answer_too_large`. Default 1 MiB. */
  readonly answerBytesMax?: number;
  readonly signal?: AbortSignal;
}

/** What came back. Redirects are not followed: a 3xx is an answer like another. */
export interface EgressAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The request opened a connection of its own: whoever answers there may be another than before. */
  readonly isNewConnection?: boolean;
}

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean;
  /** As plain HTTP: to places alone that the operator listed. */
  readonly isListedOnly?: boolean;
  readonly timeoutMs?: number;
}

export interface Egress {
  /** Throws `egress_refused` (422) when the URL's form is one that will never be fetched; does not resolve names. */
  checkUrl(url: string): void;
  /**
   * Sends one HTTP request. Rejects with `egress_refused` when the URL or what its name resolves to points inside, with
   * `egress_timeout`, `egress_unreachable` or `egress_answer_too_large`. No message repeats what the other side said.
   */
  fetch(url: string, request?: EgressRequest): Promise<EgressAnswer>;
  /**
   * Opens a TCP or TLS connection to a checked address, for protocols other than HTTP. Same failures. The caller owns
   * the socket.
   */
  connect(target: EgressTarget): Promise<Socket>;
}
