/** Builds the part of the registry that keeps published reference strings, and hands its durable jobs to the runner. */
import type { Clock } from "../../platform/clock.js";
import { assert } from "../../platform/errors.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { Store } from "../../platform/store/store.js";
import { PowersRecords } from "./powers-records.js";
import { PublishedStrings, type PublishedStringsDependencies } from "./published-strings.js";
import type { referenceStringRoutes } from "./reference-string-routes.js";

interface ReferenceStringsDependencies extends Pick<PublishedStringsDependencies, "check" | "isUsed" | "keep"> {
  readonly store: Store;
  readonly artifacts: Artifacts;
  /** Not started yet: the runner of the checks is registered here. */
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
}

interface PublishedStringsPart {
  readonly strings: PublishedStrings;
  readonly handlers: HandlersFor<typeof referenceStringRoutes>;
}

const CHECK_JOB = "check_powers_of_tau";

/**
 * Builds the part; call it before `jobs.start`.
 * @param options.folder the operator's folder of powers-of-tau files, if there is one
 */
export function createReferenceStrings(
  options: { readonly folder: string | undefined },
  dependencies: ReferenceStringsDependencies,
): PublishedStringsPart {
  const { store, jobs } = dependencies;
  const strings = new PublishedStrings(options, { ...dependencies, records: new PowersRecords({ store }) });
  jobs.register(CHECK_JOB, {
    run: async (job, context) => {
      assert(typeof job.input === "string", "a check names its file");
      await strings.check(job.input, {
        signal: context.signal,
        onProgress: (share) => {
          context.progress(share);
        },
      });
    },
  });
  return {
    strings,
    handlers: {
      listReferenceStrings: async () => ({ status: 200, body: await strings.list() }),
      getReferenceString: ({ params }) => ({ status: 200, body: strings.get(params.hash) }),
      checkReferenceString: async ({ body }) => {
        const string = await strings.requireFile(body.file);
        if (string.state === "found") {
          const { commit } = jobs.enqueueCommit({
            kind: CHECK_JOB,
            subject_key: ["powers_of_tau", body.file],
            phase: "check",
            input: body.file,
          });
          await store.commit(commit);
          jobs.wake();
        }
        return { status: 202, body: string };
      },
    },
  };
}
