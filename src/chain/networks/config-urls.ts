/**
 * The URLs in a network's configuration beside its nodes': refused when they are none, so that nobody finds out later.
 * The WebSocket is one that the server opens, and obeys the egress rules; the others are for people and their tools,
 * and are never fetched.
 */
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";
import type { NetworkConfigJson } from "./network-schemas.js";

/** What pages put into links: of another kind, such as `javascript:`, they would be an attack on who reads them. */
const LINKS = ["block_explorer_url", "chainspec_url", "chainspec_abi_url"] as const;

/** Checks those that differ from what was there. Throws `invalid_request` that names the member, `egress_refused`. */
export function checkConfigUrls(
  egress: Pick<Egress, "checkUrl">,
  config: NetworkConfigJson,
  before: NetworkConfigJson = {},
): void {
  const { websocket_url: socket } = config;
  if (socket !== undefined && socket !== before.websocket_url) {
    if (!/^wss?:\/\//i.test(socket)) throw bad("websocket_url", "a URL that starts with wss:// or ws://");
    egress.checkUrl(socket.replace(/^ws/i, "http"));
  }
  for (const member of LINKS) {
    const link = config[member];
    if (link === undefined || link === before[member]) continue;
    if (!/^https?:\/\//i.test(link) || !URL.canParse(link))
      throw bad(member, "a URL that starts with https:// or http://");
  }
}

function bad(member: string, expected: string): AppError {
  const message = `config.${member}: expected ${expected}`;
  return new AppError("invalid_request", {
    message,
    details: [{ message, code: "invalid_request", path: `config.${member}` }],
  });
}
