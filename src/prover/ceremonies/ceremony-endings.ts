/**
 * The end of a ceremony, a durable job: the beacon makes the last contribution, its key and the transcript become the
 * prover's, and provisioning goes on with the gates and the vault. One commit takes the key; a kill before it costs
 * the work, and the same value makes the same key again.
 */
import { assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { CeremonyCompute, EndedKey } from "../compute/ceremony-compute.js";
import type { ComputeOptions } from "../compute/compute.js";
import { ceremonyEvent } from "../prover-events.js";
import type { Events } from "../../platform/events/events.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { ProverDiagnostic } from "../schemas.js";
import type { CheckedPowers } from "../reference-strings/powers-records.js";
import type { CeremonyRecords, StoredCeremony, StoredContribution } from "./ceremony-records.js";
import { transcriptOf } from "./ceremony-transcript.js";

interface CeremonyEndingsDependencies {
  readonly records: CeremonyRecords;
  readonly repository: Pick<ProverRepository, "find" | "update">;
  readonly artifacts: Pick<Artifacts, "resolve" | "verify">;
  /** Finds what the check of a powers-of-tau file found. */
  readonly findPowers: (sha256: string) => CheckedPowers | undefined;
  readonly files: Pick<SourceFiles, "holdAll" | "removeUnused">;
  readonly compute: CeremonyCompute;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
}

/** The lease of the job. */
interface EndingLease extends ComputeOptions {
  readonly commit: (commit: StoreCommit) => Promise<void>;
}

/** Longest name in a key that snarkjs writes again as it is. */
const NAME_CHARACTERS_MAX = 64;

export class CeremonyEndings {
  readonly #with: CeremonyEndingsDependencies;

  constructor(dependencies: CeremonyEndingsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Applies the beacon, unless that is done or there is no ceremony to end.
   * @returns why the prover cannot be provisioned; undefined when provisioning may go on
   */
  async run(owner: Subject, id: string, lease: EndingLease): Promise<readonly ProverDiagnostic[] | undefined> {
    const record = this.#with.records.find({ owner, id });
    const prover = this.#with.repository.find(owner, id);
    if (record?.value.state !== "ending" || prover === undefined) return undefined;
    if (prover.value.build.artifacts["proving_key"] !== undefined) return undefined;
    const ceremony = record.value;
    const { beacon, head } = ceremony;
    assert(head !== null && beacon.value !== null, "a ceremony ends with a key and a beacon");
    const { bytes } = await this.#with.artifacts.verify(head.sha256);
    const before = { sha256: head.sha256, bytes, path: await this.#with.artifacts.resolve(head.sha256) };
    const name = beaconName(ceremony);
    const { iterations_exp: iterationsExp, value } = beacon;
    const made = await this.#with.compute.applyBeacon({ before, name, value, iterationsExp }, lease);
    if (!made.ok) return made.errors;
    await this.#commit(owner, id, { ended: made.value, name, lease });
    await this.#with.files.removeUnused(head.sha256);
    return undefined;
  }

  /** Prepares the end of a ceremony whose prover becomes provisioned; an empty commit for other provers. */
  ended({ id, build: { owner } }: StoredProver): StoreCommit {
    const record = this.#with.records.find({ owner, id });
    if (record?.value.state !== "ending") return {};
    const updated_at = isoTimestamp(this.#with.clock.nowMs());
    return this.#with.records.change(
      record,
      { ...record.value, state: "ended", updated_at },
      this.#with.events.commitOf([ceremonyEvent(owner, id, "ended")]),
    );
  }

  async #commit(
    owner: Subject,
    id: string,
    { ended, name, lease }: { readonly ended: EndedKey; readonly name: string; readonly lease: EndingLease },
  ): Promise<void> {
    const { key, verifyingKey } = ended;
    const keys = { proving_key: key, "verifying_key.json": Buffer.from(verifyingKey) };
    await this.#with.files.holdAll(keys, async (files) => {
      const { proving_key, "verifying_key.json": verifying } = files;
      const record = this.#with.records.find({ owner, id });
      const prover = this.#with.repository.find(owner, id);
      if (record?.value.state !== "ending" || prover === undefined || !proving_key || !verifying) return;
      const now = isoTimestamp(Math.max(this.#with.clock.nowMs(), Date.parse(prover.value.updated_at) + 1));
      const contribution = beaconContribution(record.value, { ended, name, now, key: proving_key });
      const document = transcriptOf({
        ceremony: record.value,
        contributions: [...this.#with.records.contributions(record.value), contribution],
        prover: prover.value,
        powers: this.#with.findPowers(record.value.phase1?.sha256 ?? ""),
        ended,
        endedAt: now,
      });
      const transcript = Buffer.from(JSON.stringify(document));
      await this.#with.files.holdAll({ transcript }, async ({ transcript: file }) => {
        if (file === undefined) return;
        const { build } = prover.value;
        const artifacts = {
          ...build.artifacts,
          ...{ proving_key, "verifying_key.json": verifying, "ceremony-transcript.json": file },
        };
        const { sha256, bytes } = proving_key;
        const next: StoredCeremony = {
          ...record.value,
          ...{ updated_at: now, head: { index: contribution.index, sha256, bytes }, transcript: file },
        };
        await lease.commit(
          this.#with.records.change(
            record,
            next,
            this.#with.records.insertContribution(record.value, contribution),
            this.#with.repository.update(prover, {
              ...prover.value,
              updated_at: now,
              build: { ...build, artifacts },
            }),
          ),
        );
      });
    });
  }
}

function beaconContribution(
  { head }: StoredCeremony,
  made: {
    readonly ended: EndedKey;
    readonly name: string;
    readonly now: string;
    readonly key: ArtifactReference;
  },
): StoredContribution {
  const { sha256, bytes } = made.key;
  const own = made.ended.contributions.at(-1);
  assert(own !== undefined, "the last key has the beacon's contribution");
  return {
    index: (head?.index ?? 0) + 1,
    ...{ kind: "beacon", participant_id: null, name: made.name, written_name: own.name },
    ...{ contributed_at: made.now, hash: own.hash, key: { sha256, bytes }, statement: null },
  };
}

function beaconName({ beacon: { source, round } }: StoredCeremony): string {
  const names = { drand: "drand round", block: "block", manual: "beacon" };
  return `${names[source]}${round === null ? "" : ` ${String(round)}`}`.slice(0, NAME_CHARACTERS_MAX);
}
