/**
 * Users who come with tokens of a trusted external issuer: found by issuer and subject, made at their first visit where
 * that is allowed.
 */
import { hash } from "node:crypto";
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

interface CachedToken {
  readonly userId: string;
  readonly tokenId: string;
  readonly expiresAtSec: number;
  readonly verifiedAtMs: number;
  readonly epoch: number;
}

const KNOWN_MAX = 10_000;
/** As long as our own tokens are remembered. */
const KNOWN_MS = 60_000;

export class ExternalUsers {
  readonly #dependencies: ExternalUsersDependencies;
  readonly #known = new Map<string, CachedToken>();

  constructor(dependencies: ExternalUsersDependencies) {
    this.#dependencies = dependencies;
  }

  claims(token: string): boolean {
    return this.#dependencies.issuers.claims(token);
  }

  /** The caller that a token of a trusted issuer stands for. Rejects with `unauthorized`. */
  async authenticate(token: string): Promise<Principal> {
    const nowMs = this.#dependencies.clock.nowMs();
    const cacheKey = hash("sha256", token, "base64");
    const known = this.#known.get(cacheKey);
    if (
      known !== undefined &&
      nowMs - known.verifiedAtMs < KNOWN_MS &&
      nowMs >= known.verifiedAtMs &&
      nowMs < known.expiresAtSec * 1000
    )
      return this.#principal(known);
    const claims = await this.#dependencies.issuers.verify(token);
    if (claims === undefined) throw refusal();
    const userId = await this.#userOf(claims);
    const state = this.#dependencies.repository.findState({ kind: "user", id: userId })?.value;
    if (state === undefined) throw refusal();
    const fresh: CachedToken = {
      userId,
      tokenId: idFrom(cacheKey),
      expiresAtSec: claims.expiresAtSec,
      verifiedAtMs: nowMs,
      epoch: state.epoch,
    };
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(cacheKey, fresh);
    return this.#principal(fresh);
  }

  #principal(known: CachedToken): Principal {
    const { access, repository } = this.#dependencies;
    const subject: Subject = { kind: "user", id: known.userId };
    const permissions = access.permissionsOf(subject);
    if (permissions === undefined || repository.findState(subject)?.value.epoch !== known.epoch) throw refusal();
    return { subject, permissions, tokenId: known.tokenId, sessionId: known.tokenId, expiresAtSec: known.expiresAtSec };
  }

  async #userOf(claims: ExternalClaims): Promise<string> {
    const { repository } = this.#dependencies;
    const {
      issuer: { issuer, create_users: mayCreate },
      subject,
    } = claims;
    const found = repository.findExternalUser(issuer, subject)?.value;
    if (found !== undefined) return found.id;
    if (mayCreate === false) throw refusal();
    return this.#create(claims);
  }

  /** An address that another issuer vouches for is kept for show: it opens no account here and takes none's place. */
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
      // Its two first requests came at once: the other one made it.
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

/** An id for a token that has none of ours: the same for the same token. */
function idFrom(cacheKey: string): string {
  const hex = Buffer.from(cacheKey, "base64").toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function refusal(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}
