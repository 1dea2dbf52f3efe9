/** Lifetimes and tolerances of tokens, in one place: issuing, verifying and key rotation must agree on them. */
import type { SubjectKind } from "./principal.js";

/** Lifetime of an access token, in seconds, by kind of subject. */
export const ACCESS_TOKEN_LIFE_SEC: Readonly<Record<SubjectKind, number>> = {
  user: 15 * 60,
  application: 60 * 60,
  organization: 60 * 60,
};
/** The longest: an older token is rejected whatever its `exp` says, and a retired key verifies for this time. */
export const TOKEN_LIFE_SEC_MAX = 60 * 60;
/** Largest difference allowed between the clocks of two nodes. */
export const CLOCK_TOLERANCE_SEC = 30;
/** A token of this service has about 600 characters; all headers of a request together may have 8192. */
export const ACCESS_TOKEN_CHARACTERS_MAX = 2048;

/** Parts of the service that a token may be meant for (`aud`). */
export const AUDIENCES = ["privacy", "vault", "chain", "ident"] as const;
export type Audience = (typeof AUDIENCES)[number];
