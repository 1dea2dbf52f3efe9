/**
 * Tokens that are good for listening to certain events and for nothing else. They are signed, not stored, and rest on
 * the session or personal token by which they were made: with it they end.
 *
 *   token   "pst_" base64url(JSON of Claims) "." base64url(HMAC-SHA256(key, "pv/v1/subscription-token\0" || the text before the dot))
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
  /** What a caller's own token rests on; undefined once it is over. */
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
  readonly #with: SubscriptionTokensDependencies;

  constructor(options: SubscriptionTokensOptions, dependencies: SubscriptionTokensDependencies) {
    this.#key = options.key;
    this.#with = dependencies;
  }

  static isOne(text: string): boolean {
    return text.startsWith(PREFIX);
  }

  /**
   * Makes a token for the caller, good for the filters. Lives a day, or as long as the caller's session. Throws
   * `forbidden` for a caller without a session here.
   */
  create(principal: Principal, allow: readonly string[]): SubscriptionToken {
    const standing = this.#with.standingOf(principal.subject, principal.sessionId);
    if (standing === undefined || principal.limitedTo !== undefined)
      throw new AppError("forbidden", {
        message: "a subscription token is made with the token of a login or a personal one",
      });
    const issuedAtSec = Math.floor(this.#with.clock.nowMs() / 1000);
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

  /** The caller that a token stands for, who may only listen. Throws `unauthorized`, always with the same words. */
  authenticate(text: string): Principal {
    const claims = this.#verified(text);
    if (claims === undefined || this.#with.clock.nowMs() >= claims.exp * 1000) throw refusal();
    const subject: Subject = { kind: claims.kind, id: claims.sub };
    if (this.#with.standingOf(subject, claims.sid)?.epoch !== claims.ep) throw refusal();
    return {
      subject,
      permissions: LISTENING,
      tokenId: claims.id,
      sessionId: claims.sid,
      expiresAtSec: claims.exp,
      limitedTo: claims.allow,
    };
  }

  #verified(text: string): Claims | undefined {
    if (!FORM.test(text)) return undefined;
    const dot = text.lastIndexOf(".");
    const body = text.slice(0, dot);
    const expected = Buffer.from(this.#sign(body), "latin1");
    const given = Buffer.from(text.slice(dot + 1), "latin1");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    // Signed here, so that it has the form that was given to it; looked at all the same.
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
