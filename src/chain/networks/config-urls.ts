/**
 * Checks the URLs in a network's configuration other than those of its nodes. The server opens the WebSocket, which
 * must obey the egress rules; the other URLs are for people and their tools and are never fetched.
 */
import type { Egress } from "../../platform/net/egress.js";
import { invalidMember, type AppError } from "../../platform/errors.js";
import type { NetworkConfigJson } from "./network-schemas.js";

/** Members that pages show as links. A URL of another scheme, such as `javascript:`, would attack the reader. */
const LINKS = ["block_explorer_url", "chainspec_url", "chainspec_abi_url"] as const;

/**
 * Checks the URLs that differ from those of the configuration before.
 * @throws AppError `invalid_request`, naming the member; `egress_refused`
 */
export function checkConfigUrls(
  egress: Pick<Egress, "checkUrl">,
  config: NetworkConfigJson,
  before: NetworkConfigJson = {},
): void {
  const { websocket_url: socket } = config;
  if (socket !== undefined && socket !== before.websocket_url) {
    if (!/^wss?:\/\//i.test(socket)) throw notUrl("websocket_url", "a URL that starts with wss:// or ws://");
    egress.checkUrl(socket.replace(/^ws/i, "http"));
  }
  for (const member of LINKS) {
    const link = config[member];
    if (link === undefined || link === before[member]) continue;
    if (!/^https?:\/\//i.test(link) || !URL.canParse(link))
      throw notUrl(member, "a URL that starts with https:// or http://");
  }
}

function notUrl(member: string, expected: string): AppError {
  return invalidMember(`config.${member}`, `config.${member}: expected ${expected}`);
}
