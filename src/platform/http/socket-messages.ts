/** What a WebSocket's client says: the subprotocols of the handshake, and the JSON of its messages. */

/** Answered to clients: a browser drops a connection when the server accepts none of the offered subprotocols. */
const STREAM_PROTOCOL = "proofwright.events.v1";
const TOKEN_PROTOCOL = /^bearer\.([A-Za-z0-9._~-]+)$/;

/** Reason of the close frame after a message of another form. */
export const MESSAGE_FORM = 'messages are {"token", "subject"?, "last_event_id"?}';

/** The token and the filters of a client's message. */
export interface FirstMessage {
  readonly token: string;
  /** As in the query of a request. */
  readonly query: string;
}

/**
 * Returns the subprotocol to answer (empty for none) and the token among those offered.
 * @param offered value of Sec-WebSocket-Protocol
 */
export function readProtocols(offered: string): { readonly protocol: string; readonly token: string | undefined } {
  const names = offered.split(",").map((name) => name.trim());
  const token = names.flatMap((name) => TOKEN_PROTOCOL.exec(name)?.[1] ?? [])[0];
  return { protocol: names.includes(STREAM_PROTOCOL) ? STREAM_PROTOCOL : "", token };
}

/** Reads a message `{token, subject?, last_event_id?}`; undefined for text of another form. */
export function readFirstMessage(text: string): FirstMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { token, subject = [], last_event_id: lastEventId, ...rest } = value as { readonly [member: string]: unknown };
  const subjects: readonly unknown[] = Array.isArray(subject) ? subject : [subject];
  if (typeof token !== "string" || Object.keys(rest).length > 0 || !subjects.every(isText)) return undefined;
  if (lastEventId !== undefined && typeof lastEventId !== "number") return undefined;
  const query = new URLSearchParams(subjects.map((name): [string, string] => ["subject", name]));
  if (lastEventId !== undefined) query.append("last_event_id", String(lastEventId));
  return { token, query: query.toString() };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
