/**
 * Tags and free data of provers, apart from the provers' records, which provisioning alone changes. A tag's entry says
 * which prover of an owner `name:tag` names; a prover's own record says which tags were asked for it. So a tag moves by
 * one put, and the prover that had it needs no change. Builds commits that the callers merge.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp } from "../../platform/clock.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { META_BYTES_MAX, TAGGED_NAME_PATTERN, type Meta, type UpdateProver } from "./label-schemas.js";

/** What the labels need of a stored prover. */
interface LabelledProver {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly status: string;
  readonly updated_at: string;
  readonly build: { readonly owner: Subject };
}

/** What the owner said when a prover was registered. */
export interface GivenLabels {
  readonly tags: readonly string[];
  readonly meta: Meta;
}

type StoredLabels = {
  readonly meta: { readonly [name: string]: string };
  readonly tags: readonly string[];
  /** When the tags were asked for, ISO 8601: of two provers, the one asked for later has the tag. */
  readonly tagged_at: string;
  /** In place of the one with which the prover was registered. */
  readonly description?: string | null;
  readonly updated_at: string;
};
type TagEntry = { readonly prover_id: string; readonly tagged_at: string };

const TAGGED_NAME = new RegExp(TAGGED_NAME_PATTERN);

/**
 * Checks the labels of a request.
 * @param name of the prover
 * @throws AppError `invalid_request` naming the member
 */
export function givenLabels(
  { tags, meta }: { readonly tags?: readonly string[] | null | undefined; readonly meta?: Meta | null | undefined },
  name: string,
): GivenLabels {
  requireTags(tags ?? [], name);
  return { tags: tags ?? [], meta: boundedMeta(meta) };
}

/** @throws AppError `invalid_request` when the data has too many bytes */
export function boundedMeta(meta: Meta | null | undefined): Meta {
  const bytes = Object.entries(meta ?? {}).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  if (bytes > META_BYTES_MAX)
    throw invalidMember("meta", `meta: names and values together must have at most ${String(META_BYTES_MAX)} bytes`);
  return meta ?? {};
}

/** Returns whether free data has all of the wanted members with these values. */
export function hasMeta(meta: Meta, wanted: Meta = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(meta, name) && meta[name] === value);
}

export class ProverLabels {
  readonly #store: Pick<Store, "get">;

  constructor(dependencies: { readonly store: Pick<Store, "get"> }) {
    this.#store = dependencies.store;
  }

  /** Returns the labels as the prover's record has them on the wire. */
  onWire(prover: LabelledProver): {
    readonly tags: string[];
    readonly pending_tags: string[];
    readonly meta: Meta;
    readonly description: string | null;
    readonly updated_at: string;
  } {
    const { meta, tags, description, updated_at: labelledAt } = this.#find(prover)?.value ?? NO_LABELS;
    const isPending = prover.status !== "provisioned" && prover.status !== "failed";
    return {
      tags: tags.filter((tag) => this.#holds(prover, tag)),
      pending_tags: isPending ? [...tags] : [],
      meta,
      description: description === undefined ? prover.description : description,
      updated_at: labelledAt > prover.updated_at ? labelledAt : prover.updated_at,
    };
  }

  /** Returns whether the prover has the tag now, and the free data. */
  matches(prover: LabelledProver, { tag, meta }: { readonly tag?: string; readonly meta?: Meta }): boolean {
    const labels = this.#find(prover)?.value ?? NO_LABELS;
    if (tag !== undefined && !(labels.tags.includes(tag) && this.#holds(prover, tag))) return false;
    return hasMeta(labels.meta, meta);
  }

  /** Returns the id of the owner's prover that a name and a tag name; undefined when there is none. */
  find(owner: Subject, name: string, tag: string): string | undefined {
    return this.#entry(owner, name, tag)?.value.prover_id;
  }

  /** Prepares the labels of a new prover. Its tags move here when it begins as provisioned. */
  insertion(prover: LabelledProver, { tags, meta }: GivenLabels): StoreCommit {
    if (tags.length === 0 && Object.keys(meta).length === 0) return {};
    const tagged_at = this.#after(prover, tags, prover.updated_at);
    const labels: StoredLabels = { meta, tags, tagged_at, updated_at: prover.updated_at };
    const put: StoreCommit = { puts: [{ key: labelsKey(prover), value: labels }] };
    return prover.status === "provisioned" ? mergeCommits(put, this.#moves(prover, labels)) : put;
  }

  /**
   * Prepares the move of the tags of a prover that becomes provisioned: from then on `name:tag` names it. It conflicts
   * when its tags, or the provers that have them, change meanwhile.
   */
  provisioning(prover: LabelledProver): StoreCommit {
    const record = this.#find(prover);
    const check = { checks: [{ key: labelsKey(prover), version: record?.version ?? ("absent" as const) }] };
    return record === undefined ? check : mergeCommits(check, this.#moves(prover, record.value));
  }

  /**
   * Prepares a change by the owner. It conflicts when the prover or its labels change meanwhile.
   * @throws AppError `invalid_request`, `prover_not_provisioned` for tags of a prover that failed
   */
  change(record: StoreRecord<LabelledProver>, { tags, meta, description }: UpdateProver, now: string): StoreCommit {
    const prover = record.value;
    const before = this.#find(prover);
    const { description: earlier, ...labels } = before?.value ?? NO_LABELS;
    const said = description === undefined ? earlier : description;
    if (tags !== undefined) requireTags(tags, prover.name);
    if (tags !== undefined && tags.length > 0 && prover.status === "failed")
      throw new AppError("prover_not_provisioned", { message: "the prover failed and can have no tags" });
    const next: StoredLabels = {
      ...labels,
      ...(said === undefined ? {} : { description: said }),
      ...(meta === undefined ? {} : { meta: boundedMeta(meta) }),
      ...(tags === undefined ? {} : { tags, tagged_at: this.#after(prover, tags, now, labels.tagged_at) }),
      updated_at: now,
    };
    const isTagged = tags !== undefined && prover.status === "provisioned";
    return mergeCommits(
      {
        checks: [
          { key: record.key, version: record.version },
          { key: labelsKey(prover), version: before?.version ?? "absent" },
        ],
        puts: [{ key: labelsKey(prover), value: next }],
      },
      isTagged ? this.#moves(prover, next) : {},
      isTagged
        ? this.#released(
            prover,
            labels.tags.filter((tag) => !tags.includes(tag)),
          )
        : {},
    );
  }

  /**
   * Writes the labels again unchanged, with the prover as it is: what else belongs to a prover and is written with this
   * conflicts with the prover's deletion.
   */
  touch({ key, version, value: prover }: StoreRecord<LabelledProver>): StoreCommit {
    const record = this.#find(prover);
    return {
      checks: [
        { key, version },
        { key: labelsKey(prover), version: record?.version ?? "absent" },
      ],
      puts: [{ key: labelsKey(prover), value: record?.value ?? NO_LABELS }],
    };
  }

  /** Prepares the deletion of a prover's labels and of the tags that it has. */
  deletion(prover: LabelledProver): StoreCommit {
    const record = this.#find(prover);
    return mergeCommits(this.#released(prover, record?.value.tags ?? []), {
      checks: [{ key: labelsKey(prover), version: record?.version ?? "absent" }],
      deletes: [labelsKey(prover)],
    });
  }

  /** Returns a time that is later than those at which the tags were asked for before, also if the clock is behind. */
  #after({ name, build }: LabelledProver, tags: readonly string[], now: string, own = ""): string {
    const taken = tags.map((tag) => this.#entry(build.owner, name, tag)?.value.tagged_at ?? "");
    const last = [own, ...taken].reduce((latest, at) => (at > latest ? at : latest), "");
    return last < now ? now : isoTimestamp(Date.parse(last) + 1);
  }

  /** Gives the prover its tags, except those that were asked for another one after it. */
  #moves({ id, name, build }: LabelledProver, { tags, tagged_at }: StoredLabels): StoreCommit {
    const free = tags.flatMap((tag) => {
      const entry = this.#entry(build.owner, name, tag);
      const isTaken = entry !== undefined && entry.value.prover_id !== id && entry.value.tagged_at > tagged_at;
      return isTaken ? [] : [{ key: tagKey(build.owner, name, tag), version: entry?.version ?? ("absent" as const) }];
    });
    const value: TagEntry = { prover_id: id, tagged_at };
    return { checks: free, puts: free.map(({ key }) => ({ key, value })) };
  }

  #released({ id, name, build }: LabelledProver, tags: readonly string[]): StoreCommit {
    const held = tags.flatMap((tag) => {
      const entry = this.#entry(build.owner, name, tag);
      return entry?.value.prover_id === id ? [{ key: entry.key, version: entry.version }] : [];
    });
    return { checks: held, deletes: held.map(({ key }) => key) };
  }

  #holds({ id, name, build }: LabelledProver, tag: string): boolean {
    return this.#entry(build.owner, name, tag)?.value.prover_id === id;
  }

  #entry(owner: Subject, name: string, tag: string): StoreRecord<TagEntry> | undefined {
    return this.#store.get<TagEntry>(tagKey(owner, name, tag));
  }

  #find(prover: LabelledProver): StoreRecord<StoredLabels> | undefined {
    return this.#store.get<StoredLabels>(labelsKey(prover));
  }
}

const NO_LABELS: StoredLabels = { meta: {}, tags: [], tagged_at: "", updated_at: "" };

function requireTags(tags: readonly string[], name: string): void {
  if (new Set(tags).size < tags.length) throw invalidMember("tags", "tags: a tag is given twice");
  if (tags.length > 0 && !TAGGED_NAME.test(name))
    throw invalidMember(
      "name",
      "name: with tags, a name has at most 128 letters, digits, `.`, `_` and `-`, and begins with a letter or digit",
    );
}

function labelsKey({ id, build }: LabelledProver): StoreKey {
  return ["prover_labels", ...ownerKey(build.owner), id];
}

function tagKey(owner: Subject, name: string, tag: string): StoreKey {
  return ["prover_tag", ...ownerKey(owner), name, tag];
}
