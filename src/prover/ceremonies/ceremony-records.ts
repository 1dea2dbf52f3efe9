/**
 * The records of ceremonies. One record has all that decides who contributes to what: state, queue, lease and present
 * key; each change compares its version, so that of two contributions to one key one is refused, whichever process
 * takes them. Contributions, participants and invitations have records of their own, written in the same commits.
 * Decides nothing; builds commits.
 */
import { ownerKey, type Subject, type SubjectKind } from "../../platform/auth/principal.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StorePut, StoreRecord } from "../../platform/store/store.js";
import type { CEREMONY_STATES, Statement } from "./ceremony-schemas.js";

/** A stored file; a type and not an interface, like everything that is stored as a value. */
type StoredFile = { readonly sha256: string; readonly bytes: number };
/** A key's file with the number of its contributions. */
type KeyHead = { readonly index: number; readonly sha256: string; readonly bytes: number };

export type CeremonyBeacon = {
  readonly source: "drand" | "block" | "manual";
  readonly round: number | null;
  readonly network: string | null;
  readonly description: string | null;
  readonly iterations_exp: number;
  /** Lower-case hex without 0x, once it was given. */
  readonly value: string | null;
  /** Of a drand round, with which its chain signed it, and the round before; lower-case hex. */
  readonly signature?: string | null;
  readonly previous_signature?: string | null;
};

export type CeremonyLease = {
  readonly participant_id: string;
  /** False while the turn is only offered. */
  readonly taken: boolean;
  readonly renewals: number;
  /** Uploads in this turn that were refused. */
  readonly refused: number;
  /** ISO 8601. */
  readonly expires_at: string;
};

/** A participant in the queue. */
export type QueueEntry = {
  readonly participant_id: string;
  readonly name: string;
  /** Turns that ended without a contribution. */
  readonly missed: number;
};

/** What the owner decides when the prover is made. */
export type CeremonySettings = {
  readonly minimum: number;
  readonly deadline: string | null;
  readonly open: boolean;
  readonly lease_seconds: number;
  readonly beacon: CeremonyBeacon;
};

export type StoredCeremony = CeremonySettings & {
  /** That of its prover. */
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner: { readonly kind: SubjectKind; readonly id: string };
  readonly state: (typeof CEREMONY_STATES)[number];
  /** Why it failed. */
  readonly reason: string | null;
  readonly phase1: { readonly sha256: string; readonly power: number } | null;
  /** BLAKE2b-512 by which snarkjs names the key before its contributions; hex. */
  readonly circuit_hash: string | null;
  readonly initial: StoredFile | null;
  /** What the next contribution goes on from. */
  readonly head: KeyHead | null;
  /** Who waits; the first one has the lease. */
  readonly queue: readonly QueueEntry[];
  readonly lease: CeremonyLease | null;
  readonly transcript: StoredFile | null;
};

export type StoredContribution = {
  readonly index: number;
  readonly kind: "contribution" | "beacon";
  readonly participant_id: string | null;
  readonly name: string;
  readonly written_name: string | null;
  readonly contributed_at: string;
  readonly hash: string;
  readonly key: StoredFile;
  readonly statement: Statement | null;
};

export type StoredParticipant = {
  readonly id: string;
  readonly name: string;
  readonly joined_at: string;
  readonly token_hash: string;
  /** Index of its contribution. */
  readonly contributed: number | null;
};

export type StoredInvitation = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly token_hash: string;
  /** Who joined with it. */
  readonly participant_id: string | null;
};

export const CEREMONY_TABLE = "ceremony";
const TABLES = {
  ceremony: CEREMONY_TABLE,
  place: "ceremony_place",
  contribution: "ceremony_contribution",
  participant: "ceremony_participant",
  token: "ceremony_token",
  invitation: "ceremony_invitation",
  artifactUse: "artifact_use",
} as const;
/** Keeps the entries of a ceremony apart from those of its prover, which may name the same file. */
const USE = "ceremony";

/** Whose ceremony of which prover. */
export interface CeremonyPlace {
  readonly owner: Subject;
  readonly id: string;
}

export class CeremonyRecords {
  readonly #store: Pick<Store, "get" | "range" | "count">;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> }) {
    this.#store = dependencies.store;
  }

  /** Finds the ceremony of an owner's prover. */
  find({ owner, id }: CeremonyPlace): StoreRecord<StoredCeremony> | undefined {
    return this.#store.get<StoredCeremony>([TABLES.ceremony, ...ownerKey(owner), id]);
  }

  /** Finds a ceremony by its id alone, for contributors, who must show that they may see it. */
  findById(id: string): StoreRecord<StoredCeremony> | undefined {
    const owner = this.#store.get<Subject>([TABLES.place, id])?.value;
    return owner === undefined ? undefined : this.find({ owner, id });
  }

  /** Returns the ceremonies of all owners that have not come to an end. */
  unfinished(): StoreRecord<StoredCeremony>[] {
    return this.#store.range<StoredCeremony>([TABLES.ceremony]).filter(({ value }) => isUnfinished(value));
  }

  /** Counts the ceremonies of an owner that have not come to an end. */
  countUnfinished(owner: Subject): number {
    const own = this.#store.range<StoredCeremony>([TABLES.ceremony, ...ownerKey(owner)]);
    return own.filter(({ value }) => isUnfinished(value)).length;
  }

  /** Prepares a new ceremony. */
  insert(ceremony: StoredCeremony): StoreCommit {
    const key = keyOf(TABLES.ceremony, ceremony);
    return {
      checks: [{ key, version: "absent" }],
      puts: [
        { key, value: ceremony },
        { key: [TABLES.place, ceremony.id], value: { kind: ceremony.owner.kind, id: ceremony.owner.id } },
      ],
    };
  }

  /** Prepares a change; it conflicts when the record has changed since it was read. */
  update(current: StoreRecord<StoredCeremony>, next: StoredCeremony): StoreCommit {
    const key = keyOf(TABLES.ceremony, next);
    const uses = usesOf(next);
    const kept = new Set(uses.map((use) => use.key.join("/")));
    return {
      checks: [{ key, version: current.version }],
      puts: [{ key, value: next }, ...uses],
      deletes: usesOf(current.value).flatMap((use) => (kept.has(use.key.join("/")) ? [] : [use.key])),
    };
  }

  /**
   * Prepares the deletion of a ceremony with all that belongs to it; an empty commit where there is none. It conflicts
   * when the ceremony has changed since it was read: a contribution names another file.
   */
  deletion(place: CeremonyPlace): StoreCommit {
    const record = this.find(place);
    if (record === undefined) return {};
    const { contribution, participant, token, invitation } = TABLES;
    return {
      checks: [{ key: record.key, version: record.version }],
      deletes: [record.key, [TABLES.place, place.id], ...usesOf(record.value).map(({ key }) => key)],
      deletePrefixes: [contribution, participant, token, invitation].map((table) => keyOf(table, place)),
    };
  }

  /** Returns the contributions, first to last. */
  contributions(place: CeremonyPlace): StoredContribution[] {
    return this.#store.range<StoredContribution>(keyOf(TABLES.contribution, place)).map(({ value }) => value);
  }

  /** Finds a contribution by its index. */
  findContribution(place: CeremonyPlace, index: number): StoreRecord<StoredContribution> | undefined {
    return this.#store.get<StoredContribution>([...keyOf(TABLES.contribution, place), index]);
  }

  /** Prepares a new contribution; it conflicts when there is one of this index. */
  insertContribution(place: CeremonyPlace, contribution: StoredContribution): StoreCommit {
    const key = [...keyOf(TABLES.contribution, place), contribution.index];
    return { checks: [{ key, version: "absent" }], puts: [{ key, value: contribution }] };
  }

  /** Prepares a change of a contribution; it conflicts when the record has changed since it was read. */
  updateContribution(current: StoreRecord<StoredContribution>, next: StoredContribution): StoreCommit {
    return { checks: [{ key: current.key, version: current.version }], puts: [{ key: current.key, value: next }] };
  }

  /** Finds a participant by the hash of its token. */
  findByToken(place: CeremonyPlace, tokenHash: string): StoreRecord<StoredParticipant> | undefined {
    const id = this.#store.get<string>([...keyOf(TABLES.token, place), tokenHash])?.value;
    return id === undefined ? undefined : this.findParticipant(place, id);
  }

  /** Finds a participant. */
  findParticipant(place: CeremonyPlace, id: string): StoreRecord<StoredParticipant> | undefined {
    return this.#store.get<StoredParticipant>([...keyOf(TABLES.participant, place), id]);
  }

  /** Returns the participants in no particular order. */
  participants(place: CeremonyPlace): StoreRecord<StoredParticipant>[] {
    return this.#store.range<StoredParticipant>(keyOf(TABLES.participant, place));
  }

  /** Counts the participants, those who have gone included. */
  countParticipants(place: CeremonyPlace): number {
    return this.#store.count(keyOf(TABLES.participant, place));
  }

  /** Prepares a new participant, who is found by the hash of its token. */
  insertParticipant(place: CeremonyPlace, participant: StoredParticipant): StoreCommit {
    const key = [...keyOf(TABLES.participant, place), participant.id];
    return {
      checks: [{ key, version: "absent" }],
      puts: [
        { key, value: participant },
        { key: [...keyOf(TABLES.token, place), participant.token_hash], value: participant.id },
      ],
    };
  }

  /** Prepares the deletion of a participant, whose token is worth nothing then. */
  deleteParticipant(place: CeremonyPlace, { key, version, value }: StoreRecord<StoredParticipant>): StoreCommit {
    return { checks: [{ key, version }], deletes: [key, [...keyOf(TABLES.token, place), value.token_hash]] };
  }

  /** Prepares a change of a participant. */
  updateParticipant(current: StoreRecord<StoredParticipant>, next: StoredParticipant): StoreCommit {
    return { checks: [{ key: current.key, version: current.version }], puts: [{ key: current.key, value: next }] };
  }

  /** Returns the invitations, oldest first. */
  invitations(place: CeremonyPlace): StoreRecord<StoredInvitation>[] {
    const all = this.#store.range<StoredInvitation>(keyOf(TABLES.invitation, place));
    return all.sort((a, b) => (a.value.created_at < b.value.created_at ? -1 : 1));
  }

  /** Counts the invitations. */
  countInvitations(place: CeremonyPlace): number {
    return this.#store.count(keyOf(TABLES.invitation, place));
  }

  /** Prepares an invitation, a new one or a changed one. */
  putInvitation(
    place: CeremonyPlace,
    invitation: StoredInvitation,
    current?: StoreRecord<StoredInvitation>,
  ): StoreCommit {
    const key = [...keyOf(TABLES.invitation, place), invitation.id];
    return { checks: [{ key, version: current?.version ?? "absent" }], puts: [{ key, value: invitation }] };
  }

  /** Prepares the withdrawal of an invitation. */
  deleteInvitation(current: StoreRecord<StoredInvitation>): StoreCommit {
    return { checks: [{ key: current.key, version: current.version }], deletes: [current.key] };
  }

  /** Prepares a change of a ceremony with what else changes. */
  change(current: StoreRecord<StoredCeremony>, next: StoredCeremony, ...more: readonly StoreCommit[]): StoreCommit {
    return mergeCommits(this.update(current, next), ...more);
  }
}

function isUnfinished({ state }: StoredCeremony): boolean {
  return state === "preparing" || state === "open" || state === "ending";
}

function keyOf(table: string, { owner, id }: CeremonyPlace): StoreKey {
  return [table, ...ownerKey(owner), id];
}

/** One entry per file: the first key, the present one, and the transcript. */
function usesOf({ owner, id, initial, head, transcript }: StoredCeremony): StorePut[] {
  const hashes = new Set([initial, head, transcript].flatMap((file) => (file === null ? [] : [file.sha256])));
  return [...hashes].map((sha256) => ({
    key: [TABLES.artifactUse, sha256, ...ownerKey(owner), id, USE],
    value: true,
  }));
}
