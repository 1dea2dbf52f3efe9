/**
 * The WebSockets by which nodes announce new blocks. This file limits how many are open, and opens them under the
 * egress rules for users.
 */
import { formatSubject } from "../../../platform/auth/principal.js";
import type { Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import type { HeadHints, NetworkRecord } from "../network-port.js";
import { HeadFeed } from "../../rpc/head-feed.js";

interface HeadFeedsDependencies {
  /** For addresses of users. */
  readonly egress: Egress;
  readonly clock: Clock;
}

/** Each is an open connection with TLS. Networks beyond this number are polled, as those without a WebSocket. */
const FEEDS_MAX = 256;
/**
 * So that no owner takes all of them. With the limit in head-feed.ts, the hints of one owner make the server look at
 * chains at most 160 times a second.
 */
const FEEDS_PER_OWNER_MAX = 16;

export class HeadFeeds {
  readonly #dependencies: HeadFeedsDependencies;
  /** The open feeds and their owners. */
  readonly #open = new Map<HeadFeed, string>();

  constructor(dependencies: HeadFeedsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Works as HintingNetworks says. Public networks have none: the operator configures no WebSocket for them. */
  open({ owner, enabled, config: { websocket_url: url } }: NetworkRecord, onHint: () => void): HeadHints | undefined {
    if (owner === null || !enabled || url === undefined || this.#open.size >= FEEDS_MAX) return undefined;
    const subject = formatSubject(owner);
    if ([...this.#open.values()].filter((other) => other === subject).length >= FEEDS_PER_OWNER_MAX) return undefined;
    const feed = new HeadFeed({ url }, { ...this.#dependencies, onHint });
    this.#open.set(feed, subject);
    return {
      url,
      close: () => {
        feed.close();
        this.#open.delete(feed);
      },
    };
  }
}
