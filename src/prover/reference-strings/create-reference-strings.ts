/** Builds the part of the registry that keeps published reference strings, and hands its durable jobs to the runner. */
import type { Clock } from "../../platform/clock.js";
import { assert } from "../../platform/errors.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Job } from "../../platform/jobs/job.js";
import { JobFailure } from "../../platform/jobs/job-runner.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Log } from "../../platform/log.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import { NodeFolders } from "./node-folders.js";
import { UPLOADS_TABLE, type PowersRecords } from "./powers-records.js";
import { PublishedStrings, type PublishedStringsDependencies } from "./published-strings.js";
import type { referenceStringRoutes } from "./reference-string-routes.js";
import { UploadedStrings } from "./uploaded-strings.js";

interface ReferenceStringsDependencies extends Pick<
  PublishedStringsDependencies,
  "check" | "forget" | "isUsed" | "keep"
> {
  readonly store: Store;
  /** The nodes that share the store; this one alone unless given. */
  readonly nodes?: Pick<Nodes, "count" | "incarnation" | "isAlive" | "onChange"> | undefined;
  readonly records: PowersRecords;
  readonly artifacts: Artifacts;
  readonly files: Pick<SourceFiles, "holdFile" | "removeUnused">;
  /** Not started yet: the runner of the checks is registered here. */
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
}

interface PublishedStringsPart {
  readonly strings: PublishedStrings;
  readonly uploads: Pick<UploadedStrings, "start">;
  /** What lies in the folders of the nodes. */
  readonly folders: NodeFolders;
  readonly handlers: HandlersFor<typeof referenceStringRoutes>;
}

interface ReferenceStringsOptions {
  /** The operator's folder of powers-of-tau files, if there is one. */
  readonly folder: string | undefined;
  /** Whether other nodes leave keys to this one that take a file of its folder. */
  readonly tellsFolder?: boolean | undefined;
  /** Longest file that may be uploaded. */
  readonly uploadBytesMax: number;
}

export const CHECK_JOB = "check_powers_of_tau";
/** A check whose file no node has told of for so long is ended by any: nodes tell each minute what they have. */
const UNCLAIMED_MS_MAX = 180_000;

/** Builds the part; call it before `jobs.start`. */
export function createReferenceStrings(
  options: ReferenceStringsOptions,
  dependencies: ReferenceStringsDependencies,
): PublishedStringsPart {
  const { jobs, nodes, clock } = dependencies;
  const wake = (): void => {
    jobs.wake();
  };
  const folders = new NodeFolders(
    { folder: options.tellsFolder === true ? options.folder : undefined },
    { ...dependencies, onChanged: wake, onRound: wake },
  );
  const queueCheck = (file: string): StoreCommit =>
    jobs.enqueueCommit({ kind: CHECK_JOB, subject_key: ["powers_of_tau", file], phase: "check", input: file }).commit;
  const uploads = new UploadedStrings({ fileBytesMax: options.uploadBytesMax }, { ...dependencies, queueCheck });
  nodes?.onChange(UPLOADS_TABLE, (keys) => {
    uploads.follow(keys);
  });
  const strings = new PublishedStrings(options, { ...dependencies, uploads, folders });
  jobs.register(CHECK_JOB, {
    isFor: (job) => {
      if (nodes === undefined || nodes.count === 1 || strings.hasFile(fileOf(job))) return true;
      const isOld = clock.nowMs() - Date.parse(job.created_at) > UNCLAIMED_MS_MAX;
      return isOld && !folders.others().some(({ file }) => file === fileOf(job));
    },
    run: async (job, context) => {
      const record = await strings.check(fileOf(job), {
        signal: context.signal,
        onProgress: (share) => {
          context.progress(share);
        },
      });
      if (record === undefined)
        throw new JobFailure({ code: "not_found", message: "the file was deleted before its check" });
    },
  });
  jobs.subscribe(({ job, progress }) => {
    if (job.kind !== CHECK_JOB) return;
    if (job.state !== "running") strings.follow(fileOf(job), undefined);
    else if (progress !== undefined) strings.follow(fileOf(job), progress);
  });
  return { strings, uploads, folders, handlers: handlersOf({ strings, uploads, queueCheck }, dependencies) };
}

/** The input is what `queueCheck` queued. */
function fileOf({ input }: Job): string {
  assert(typeof input === "string", "a check names its file");
  return input;
}

function handlersOf(
  parts: {
    readonly strings: PublishedStrings;
    readonly uploads: UploadedStrings;
    readonly queueCheck: (file: string) => StoreCommit;
  },
  { store, jobs }: Pick<ReferenceStringsDependencies, "store" | "jobs">,
): HandlersFor<typeof referenceStringRoutes> {
  const { strings, uploads, queueCheck } = parts;
  return {
    listReferenceStrings: async () => ({ status: 200, body: await strings.list() }),
    getReferenceString: ({ params }) => ({ status: 200, body: strings.get(params.hash) }),
    checkReferenceString: async ({ body }) => {
      const string = await strings.requireFile(body.file);
      if (string.state === "found") {
        await store.commit(queueCheck(body.file));
        jobs.wake();
      }
      return { status: 202, body: string };
    },
    uploadReferenceString: async ({ params, body }) => {
      await strings.requireNoFile(params.file);
      const isComplete = await uploads.take(params.file, body);
      if (isComplete) jobs.wake();
      return { status: isComplete ? 202 : 200, body: await strings.upload(params.file) };
    },
    deleteReferenceString: async ({ params }) => {
      await strings.deleteUpload(params.file);
      return { status: 204 };
    },
  };
}
