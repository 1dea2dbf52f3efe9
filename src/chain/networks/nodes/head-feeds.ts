/**
 * The WebSockets by which nodes of networks say that there is a new block: how many there may be, and whose egress
 * rules they obey.
 */
import { formatSubject } from "../../../platform/auth/principal.js";
import type { Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import type { HeadHints, NetworkRecord } from "../network-port.js";
import { HeadFeed } from "../../rpc/head-feed.js";

export interface HeadFeedsDependencies {
  /** For what users name. */
  readonly egress: Egress;
  readonly clock: Clock;
}

/** Each is an open connection of ours, with its TLS. Networks beyond this are looked at as if they named none. */
const FEEDS_MAX = 256;
/**
 * So that nobody takes all of them, nor has us look at chains more often than 160 times a second by hints
 * (head-feed.ts).
 */
const FEEDS_PER_OWNER_MAX = 16;

export class HeadFeeds {
  readonly #with: HeadFeedsDependencies;
  readonly #open = new Map<HeadFeed, string>();

  constructor(dependencies: HeadFeedsDependencies) {
    this.#with = dependencies;
  }

  /** See HintingNetworks. Public networks have none: their nodes are the operator's, who names no WebSocket. */
  open({ owner, enabled, config: { websocket_url: url } }: NetworkRecord, onHint: () => void): HeadHints | undefined {
    if (owner === null || !enabled || url === undefined || this.#open.size >= FEEDS_MAX) return undefined;
    const whose = formatSubject(owner);
    if ([...this.#open.values()].filter((other) => other === whose).length >= FEEDS_PER_OWNER_MAX) return undefined;
    const feed = new HeadFeed({ url }, { ...this.#with, onHint });
    this.#open.set(feed, whose);
    return {
      url,
      close: () => {
        feed.close();
        this.#open.delete(feed);
      },
    };
  }
}
