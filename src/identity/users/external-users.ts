/**
 * Users with tokens of a trusted external issuer: found by issuer and subject, and created at their first request where
 * the operator allows that.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { NEW_USER_PERMISSIONS } from "../../platform/auth/permissions.js";
import type { ExternalClaims, ExternalIssuers } from "../../platform/auth/external-issuers.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict } from "../../platform/store/store.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import { normalizeEmail } from "./email.js";
import type { IdentityRepository, UserRecord } from "../repository.js";

export interface ExternalUsersDependencies {
  readonly issuers: ExternalIssuers;
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly clock: Clock;
  readonly log: Log;
}

/** A verified token. */
interface CachedToken {
  readonly userId: string;
  readonly tokenId: string;
  readonly expiresAtSec: number;
  /** The user's epoch when the token was verified. */
  readonly epoch: number;
}

/** A few hundred bytes each. */
const CACHED_TOKENS_MAX = 10_000;
/** As long as verified access tokens of this server are cached. */
const CACHE_TTL_MS = 60_000;

export class ExternalUsers {
  readonly #dependencies: ExternalUsersDependencies;
  /** By a hash of the token, so that the memory of the process holds no usable token. */
  readonly #cache: LRUCache<string, CachedToken>;

  constructor(dependencies: ExternalUsersDependencies) {
    const { clock } = dependencies;
    this.#dependencies = dependencies;
    this.#cache = new LRUCache({
      max: CACHED_TOKENS_MAX,
      ttl: CACHE_TTL_MS,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /** Returns true for a token that names a trusted issuer, verified or not. */
  claims(token: string): boolean {
    return this.#dependencies.issuers.claims(token);
  }

  /**
   * Returns the user whom a token of a trusted issuer stands for.
   * @throws unauthorized with the same words whatever is wrong
   */
  async authenticate(token: string): Promise<Principal> {
    const nowMs = this.#dependencies.clock.nowMs();
    const cacheKey = hash("sha256", token, "base64");
    const cached = this.#cache.get(cacheKey);
    if (cached !== undefined && nowMs < cached.expiresAtSec * 1000) return this.#principalOf(cached);
    const claims = await this.#dependencies.issuers.verify(token);
    if (claims === undefined) throw unauthorized();
    const userId = await this.#userOf(claims);
    const state = this.#dependencies.repository.findState({ kind: "user", id: userId })?.value;
    if (state === undefined) throw unauthorized();
    const verified: CachedToken = {
      userId,
      tokenId: tokenIdOf(cacheKey),
      expiresAtSec: claims.expiresAtSec,
      epoch: state.epoch,
    };
    this.#cache.set(cacheKey, verified);
    return this.#principalOf(verified);
  }

  #principalOf({ userId, tokenId, expiresAtSec, epoch }: CachedToken): Principal {
    const { access, repository } = this.#dependencies;
    const subject: Subject = { kind: "user", id: userId };
    const permissions = access.permissionsOf(subject);
    if (permissions === undefined || repository.findState(subject)?.value.epoch !== epoch) throw unauthorized();
    return { subject, permissions, tokenId, sessionId: tokenId, expiresAtSec };
  }

  async #userOf(claims: ExternalClaims): Promise<string> {
    const { repository } = this.#dependencies;
    const {
      issuer: { issuer, create_users: mayCreate },
      subject,
    } = claims;
    const found = repository.findExternalUser(issuer, subject)?.value;
    if (found !== undefined) return found.id;
    if (mayCreate === false) throw unauthorized();
    return this.#create(claims);
  }

  /** The address in the token is only displayed: it opens no account here, and does not block one with the address. */
  async #create(claims: ExternalClaims): Promise<string> {
    const { repository, clock, log } = this.#dependencies;
    const user: UserRecord = {
      id: newId(),
      created_at: isoTimestamp(clock.nowMs()),
      email: normalizeEmail(claims.email ?? "") ?? "",
      first_name: claims.firstName ?? "",
      last_name: claims.lastName ?? "",
      permissions: claims.issuer.permissions ?? NEW_USER_PERMISSIONS,
      privacy_policy_agreed_at: null,
      terms_of_service_agreed_at: null,
      external_issuer: claims.issuer.issuer,
      external_subject: claims.subject,
    };
    try {
      await repository.commit(repository.createUserCommit(user, undefined));
    } catch (error) {
      // The user's first two requests came at once, and the other one created the user.
      const other =
        error instanceof StoreConflict
          ? repository.findExternalUser(claims.issuer.issuer, claims.subject)?.value
          : undefined;
      if (other === undefined) throw error;
      return other.id;
    }
    log.info("external user created", { subject: `user:${user.id}` });
    return user.id;
  }
}

/** Returns an id in the form of a UUID for a token of another issuer: the same for the same token. */
function tokenIdOf(cacheKey: string): string {
  const hex = Buffer.from(cacheKey, "base64").toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function unauthorized(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}
