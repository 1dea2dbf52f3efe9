/**
 * Asks GitHub which SSH keys it publishes for the name that a contributor says to have. The name alone leaves the
 * server, and only after the signature was verified. Answers are kept for a minute, so that a contributor who tries
 * again costs GitHub nothing.
 */
import { LRUCache } from "lru-cache";
import { readPublishedKeys, compareGithubKey } from "../../../engine/groth16/ceremony/github-keys.js";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Egress, EgressAnswer } from "../../../platform/net/egress.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import { shareOfLimit } from "../../../platform/nodes/share-of-limit.js";

export interface GithubClaim {
  readonly github: string;
  readonly public_key: string;
  readonly contribution: string;
}

interface GithubIdentitiesOptions {
  /** Scheme and authority, under which `/NAME.keys` has the keys of `NAME`. */
  readonly url: string;
}

interface GithubIdentitiesDependencies {
  readonly egress: Pick<Egress, "fetch">;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** The nodes that share the questions of a minute; without it there is no other. */
  readonly nodes?: Pick<Nodes, "serving">;
}

interface Kept {
  readonly keys: ReadonlySet<string>;
  readonly askedAtMs: number;
}

interface Minute {
  readonly sinceMs: number;
  asks: number;
  readonly byContribution: Map<string, number>;
}

const KEPT_MS = 60_000;
/** Names that are remembered; some kilobytes each at most. */
const NAMES_MAX = 200;
/** A key has 80 to 800 bytes, and nobody has hundreds of them. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Names asked for in a minute by all contributors: a script must not use this server to read GitHub. */
const ASKS_PER_MINUTE = 30;
/** Of these for one contribution, so that one contributor does not take the asks of all. */
const ASKS_PER_CONTRIBUTION = 5;
const OTHERWISE = "sign again later, or without a GitHub name";
const HEADERS = { accept: "text/plain", "user-agent": "proofwright" };

export class GithubIdentities {
  readonly #url: string;
  readonly #with: GithubIdentitiesDependencies;
  readonly #kept = new LRUCache<string, Kept>({ max: NAMES_MAX });
  #minute: Minute = { sinceMs: -Infinity, asks: 0, byContribution: new Map() };

  constructor({ url }: GithubIdentitiesOptions, dependencies: GithubIdentitiesDependencies) {
    this.#url = url.replace(/\/+$/, "");
    this.#with = dependencies;
  }

  /**
   * Makes sure that GitHub publishes a key for a name.
   * @param claim.github a name as GitHub allows it
   * @param claim.public_key kind and base64
   * @param claim.contribution whose statement it is; names the same contribution each time
   * @throws AppError `statement_invalid` where it does not, `too_many_requests`, and `egress_unreachable`,
   *   `egress_timeout`, `egress_refused`, `egress_answer_too_large` where GitHub does not say
   */
  async requirePublished(claim: GithubClaim): Promise<void> {
    const name = claim.github.toLowerCase();
    const keys = await this.#keysOf(name, claim.contribution);
    if (compareGithubKey(claim, new Map([[name, keys]])) === "published") return;
    throw new AppError("statement_invalid", {
      message: `${this.#url}/${name}.keys does not have the key; add it to the account and sign again after a minute, or sign without a GitHub name`,
    });
  }

  async #keysOf(name: string, contribution: string): Promise<ReadonlySet<string>> {
    const kept = this.#kept.get(name);
    if (kept !== undefined && this.#with.clock.monotonicMs() - kept.askedAtMs < KEPT_MS) return kept.keys;
    this.#takeAsk(contribution);
    const keys = keysIn(await this.#ask(`${this.#url}/${name}.keys`));
    this.#kept.set(name, { keys, askedAtMs: this.#with.clock.monotonicMs() });
    return keys;
  }

  async #ask(url: string): Promise<EgressAnswer> {
    try {
      return await this.#with.egress.fetch(url, { headers: HEADERS, answerBytesMax: ANSWER_BYTES_MAX });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const message = `${url} cannot be read (${error.message}); ${OTHERWISE}`;
      throw new AppError(error.code, { message, cause: error });
    }
  }

  #takeAsk(contribution: string): void {
    const nowMs = this.#with.clock.monotonicMs();
    if (nowMs - this.#minute.sinceMs >= KEPT_MS) this.#minute = { sinceMs: nowMs, asks: 0, byContribution: new Map() };
    const { asks, byContribution } = this.#minute;
    const own = byContribution.get(contribution) ?? 0;
    const { nodes } = this.#with;
    if (asks >= shareOfLimit(ASKS_PER_MINUTE, nodes) || own >= shareOfLimit(ASKS_PER_CONTRIBUTION, nodes))
      throw new AppError("too_many_requests", {
        message: "too many GitHub accounts were named in a minute; sign again after a minute, or without a GitHub name",
      });
    this.#minute.asks += 1;
    byContribution.set(contribution, own + 1);
  }
}

/** Nobody of that name has no keys. A redirect is no answer: it is not followed. */
function keysIn({ status, body }: EgressAnswer): ReadonlySet<string> {
  if (status === 200) return readPublishedKeys(Buffer.from(body).toString("utf8"));
  if (status === 404) return new Set();
  throw new AppError("egress_unreachable", {
    message: `GitHub answered ${String(status)} when it was asked for the keys; ${OTHERWISE}`,
  });
}
