/**
 * Tokens that allow listening to certain events and nothing else. They are signed, not stored, and end with the session
 * or personal token by which they were made.
 *
 *   token   body "." base64url(HMAC-SHA256(key, "pv/v1/subscription-token\0" || body))
 *   body    "pst_" base64url(JSON of Claims)
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../clock.js";
import { AppError } from "../errors.js";
import { isUuid, newId } from "../ids.js";
import { permissionBits } from "../auth/permissions.js";
import { SUBJECT_KINDS, type Principal, type Subject, type SubjectKind } from "../auth/principal.js";

export interface SubscriptionTokensOptions {
  /** 32 bytes, the same after a restart. */
  readonly key: Uint8Array;
}

export interface SubscriptionTokensDependencies {
  readonly clock: Clock;
  /** State of the session or personal token that a caller uses; undefined once it has ended. */
  readonly standingOf: (
    subject: Subject,
    sessionId: string,
  ) => { readonly epoch: number; readonly endsAtSec: number } | undefined;
}

export interface SubscriptionToken {
  readonly id: string;
  readonly text: string;
  readonly issuedAtSec: number;
  readonly expiresAtSec: number;
}

/** `sid`: session; `ep`: epoch of the session; `exp`: expiry in seconds; `allow`: filters. */
interface Claims {
  readonly id: string;
  readonly kind: SubjectKind;
  readonly sub: string;
  readonly sid: string;
  readonly ep: number;
  readonly exp: number;
  readonly allow: readonly string[];
}

const PREFIX = "pst_";
const LABEL = "pv/v1/subscription-token\0";
const LIFE_SEC = 24 * 3600;
const FORM = /^pst_[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]{43}$/;
const LISTENING = permissionBits(["subscribe"]);

export class SubscriptionTokens {
  readonly #key: Uint8Array;
  readonly #dependencies: SubscriptionTokensDependencies;

  constructor(options: SubscriptionTokensOptions, dependencies: SubscriptionTokensDependencies) {
    this.#key = options.key;
    this.#dependencies = dependencies;
  }

  /** True for a text with the prefix of these tokens. */
  static isOne(text: string): boolean {
    return text.startsWith(PREFIX);
  }

  /**
   * Makes a token with which the caller may listen to events that match the filters. It expires after a day, or with
   * the caller's session.
   * @throws forbidden when the caller has no session here, or a limited token
   */
  create(principal: Principal, allow: readonly string[]): SubscriptionToken {
    const standing = this.#dependencies.standingOf(principal.subject, principal.sessionId);
    if (standing === undefined || principal.limitedTo !== undefined)
      throw new AppError("forbidden", {
        message: "a subscription token can only be made with the token of a login or a personal token",
      });
    const issuedAtSec = Math.floor(this.#dependencies.clock.nowMs() / 1000);
    const claims: Claims = {
      id: newId(),
      kind: principal.subject.kind,
      sub: principal.subject.id,
      sid: principal.sessionId,
      ep: standing.epoch,
      exp: Math.min(issuedAtSec + LIFE_SEC, standing.endsAtSec),
      allow,
    };
    const body = PREFIX + Buffer.from(JSON.stringify(claims)).toString("base64url");
    return { id: claims.id, text: `${body}.${this.#sign(body)}`, issuedAtSec, expiresAtSec: claims.exp };
  }

  /**
   * Returns the principal of a token, with the permission to listen and no other.
   * @throws unauthorized with the same message whatever is wrong
   */
  authenticate(text: string): Principal {
    const claims = this.#verifiedClaims(text);
    if (claims === undefined || this.#dependencies.clock.nowMs() >= claims.exp * 1000) throw refusal();
    const subject: Subject = { kind: claims.kind, id: claims.sub };
    if (this.#dependencies.standingOf(subject, claims.sid)?.epoch !== claims.ep) throw refusal();
    return {
      subject,
      permissions: LISTENING,
      tokenId: claims.id,
      sessionId: claims.sid,
      expiresAtSec: claims.exp,
      limitedTo: claims.allow,
    };
  }

  #verifiedClaims(text: string): Claims | undefined {
    if (!FORM.test(text)) return undefined;
    const dot = text.lastIndexOf(".");
    const body = text.slice(0, dot);
    const expected = Buffer.from(this.#sign(body), "latin1");
    const given = Buffer.from(text.slice(dot + 1), "latin1");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    // The signature proves that this server made the claims; their form is checked all the same.
    const claims = JSON.parse(Buffer.from(body.slice(PREFIX.length), "base64url").toString("utf8")) as Claims;
    return SUBJECT_KINDS.includes(claims.kind) && isUuid(claims.sub) && claims.allow.length > 0 ? claims : undefined;
  }

  #sign(body: string): string {
    return createHmac("sha256", this.#key).update(LABEL).update(body).digest("base64url");
  }
}

function refusal(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}
