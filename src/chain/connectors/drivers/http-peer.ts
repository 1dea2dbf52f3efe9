/** Requests to a peer over HTTP: base URL, header of the credentials, limits, and failures as those of connectors. */
import { AppError } from "../../../platform/errors.js";
import type { EgressAnswer, EgressRequest } from "../../../platform/net/egress.js";
import type { Credentials } from "../connector-schemas.js";
import type { Peer } from "./driver.js";
import { answerInvalid, credentialsRejected, fromEgress, PEER_TIMEOUT_MS } from "./peer-failures.js";

export interface PeerRequest {
  readonly method?: EgressRequest["method"];
  /** A name may occur several times. */
  readonly query?: readonly (readonly [string, string])[];
  readonly json?: unknown;
  readonly body?: { readonly contentType: string; readonly bytes: Uint8Array };
  readonly timeoutMs?: number;
  readonly answerBytesMax?: number;
}

const DECODER = new TextDecoder("utf-8", { fatal: true });
const VISIBLE = /^[\x20-\x7e]*$/;

/** Sends one request below the base URL. Throws `connector_refused` for 401 and 403, and what `fromEgress` returns. */
export async function askPeer(peer: Peer, path: string, request: PeerRequest = {}): Promise<EgressAnswer> {
  const { method = "GET", json, body, timeoutMs = PEER_TIMEOUT_MS, answerBytesMax } = request;
  const payload = json === undefined ? body?.bytes : JSON.stringify(json);
  const contentType = json === undefined ? body?.contentType : "application/json";
  try {
    const answer = await peer.egress.fetch(peerUrl(peer, path, request.query), {
      method,
      timeoutMs,
      signal: peer.signal,
      headers: {
        accept: "application/json",
        ...authorization(peer.credentials),
        ...(contentType === undefined ? {} : { "content-type": contentType }),
      },
      ...(payload === undefined ? {} : { body: payload }),
      ...(answerBytesMax === undefined ? {} : { answerBytesMax }),
    });
    if (answer.status === 401 || answer.status === 403) throw credentialsRejected();
    return answer;
  } catch (error) {
    throw fromEgress(error);
  }
}

/** Returns the URL of a path below the peer's base. Throws `connector_not_ready` when there is no address. */
export function peerUrl(peer: Peer, path: string, query: PeerRequest["query"] = []): string {
  const { api } = peer.addresses;
  if (api?.kind !== "http")
    throw new AppError("connector_not_ready", { message: "the connector has no address to be asked at" });
  return `${api.url}${path}${query.length === 0 ? "" : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`}`;
}

/**
 * Returns the JSON of an answer. Throws `connector_answer_invalid`.
 * @param what the kind of peer, such as `an IPFS node`
 */
export function jsonOf(answer: EgressAnswer, what: string): unknown {
  try {
    return JSON.parse(DECODER.decode(answer.body)) as unknown;
  } catch (error) {
    throw answerInvalid(what, error);
  }
}

/** Returns true for an object that is no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the header for the credentials: a bearer token, a user with a password (RFC 7617), or a key in a header of
 * its own.
 */
export function authorization(credentials: Credentials): Record<string, string> {
  const { token, username, password, api_key: apiKey, api_key_header: apiKeyHeader } = credentials;
  if (token !== undefined) return checked({ authorization: `Bearer ${token}` });
  if (username !== undefined || password !== undefined)
    return { authorization: `Basic ${Buffer.from(`${username ?? ""}:${password ?? ""}`, "utf8").toString("base64")}` };
  if (apiKey !== undefined) return checked({ [(apiKeyHeader ?? "x-api-key").toLowerCase()]: apiKey });
  return {};
}

function checked(headers: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[a-z0-9-]{1,64}$/.test(name) || !VISIBLE.test(value))
      throw new AppError("connector_config_invalid", {
        message: "the connector's credentials have characters that a header cannot carry",
      });
  }
  return headers;
}
