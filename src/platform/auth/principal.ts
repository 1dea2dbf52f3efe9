/** Who is asking. A principal is what a verified access token says, and nothing else. */

/** The three kinds of subject that own things. */
export const SUBJECT_KINDS = ["user", "application", "organization"] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** Owner of a record; the first part of its key, so that another tenant's record is simply not there. */
export interface Subject {
  readonly kind: SubjectKind;
  /** Canonical UUID. */
  readonly id: string;
}

export interface Principal {
  readonly subject: Subject;
  /** Bit-set, 0 to 2^31 - 1; see permissions.ts. */
  readonly permissions: number;
  /** `jti` of the access token. */
  readonly tokenId: string;
  /** Token family that the access token belongs to; revoked together. */
  readonly sessionId: string;
  /** Unix seconds. */
  readonly expiresAtSec: number;
  /**
   * The user on whose behalf an application or organization token acts, where there is one. For the record; grants
   * nothing.
   */
  readonly actingUserId?: string;
  /** Filters over event subjects. Whoever has them may do nothing but listen to events within them. */
  readonly limitedTo?: readonly string[];
}

/** `user:<uuid>`, the form of `sub` and of owner metadata. */
export function formatSubject(subject: Subject): string {
  return `${subject.kind}:${subject.id}`;
}

export function ownerKey(subject: Subject): readonly [SubjectKind, string] {
  return [subject.kind, subject.id];
}
