/** The caller of a request. A principal holds what a verified access token says, and nothing else. */
import { isUuid } from "../ids.js";

/** The three kinds of subject that own things. */
export const SUBJECT_KINDS = ["user", "application", "organization"] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** Owner of a record. It is the first part of the record's key, so that no tenant can find another tenant's record. */
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
   * The user on whose behalf an application or organization token acts, if any. Recorded in the audit log; grants
   * nothing.
   */
  readonly actingUserId?: string;
  /** Filters over event subjects. A principal that has them may only listen to events that match them. */
  readonly limitedTo?: readonly string[];
}

/** Returns `user:<uuid>`, the form of `sub` and of owner metadata. */
export function formatSubject(subject: Subject): string {
  return `${subject.kind}:${subject.id}`;
}

/** Returns the subject that `formatSubject` wrote so, or undefined for anything else. */
export function parseSubject(name: unknown): Subject | undefined {
  const [kind, id, ...rest] = typeof name === "string" ? name.split(":") : [];
  if (rest.length > 0 || !isSubjectKind(kind) || id === undefined || !isUuid(id)) return undefined;
  return { kind, id };
}

/** Returns the first parts of the key of a record that the subject owns. */
export function ownerKey(subject: Subject): readonly [SubjectKind, string] {
  return [subject.kind, subject.id];
}

function isSubjectKind(value: string | undefined): value is SubjectKind {
  return SUBJECT_KINDS.some((kind) => kind === value);
}
