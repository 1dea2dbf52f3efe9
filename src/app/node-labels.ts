/** Which jobs a node of a cluster takes, by the labels of its settings. */
import type { Config } from "../platform/config.js";
import type { NodeRole } from "../platform/nodes/nodes.js";
import { StartError } from "../platform/start-error.js";
import { ANALYSIS_JOB } from "../prover/analysis/analysis-jobs.js";
import { END_JOB } from "../prover/ceremonies/create-ceremonies.js";
import { DEPLOY_JOB } from "../prover/on-chain/verifier-queue.js";
import { PROOF_JOB_KIND } from "../prover/proof-jobs/proof-jobs.js";
import { PROVISION_JOB, PROVISION_LARGE_JOB } from "../prover/provisioning/provisioning-jobs.js";
import { CHECK_JOB } from "../prover/reference-strings/create-reference-strings.js";

type Label = "prove" | "compile";

const LABELS: ReadonlyMap<string, Label> = new Map([
  [PROOF_JOB_KIND, "prove"],
  ...[PROVISION_JOB, PROVISION_LARGE_JOB, ANALYSIS_JOB, CHECK_JOB, END_JOB].map((kind) => [kind, "compile"] as const),
]);

/** What a node does of the jobs that all nodes see. */
export interface NodeWork {
  /** Whether jobs of a kind are run here now. */
  readonly takes: (kind: string) => boolean;
  /** Whether other nodes may leave keys to this one that they cannot make, once its vault is unsealed. */
  readonly makesKeysForOthers: boolean;
  /** Whether a job that needs the vault is begun here now. On a single server always: it waits there. */
  readonly hasVault: () => boolean;
  /**
   * Says whether the vault of this node is unsealed. Proofs, keys, connectors and verifiers wait for that in any case;
   * on a sealed node of a cluster they would wait for it alone, while others could make them.
   */
  readonly vaultIs: (isUnsealed: boolean) => void;
}

/**
 * Returns what is run here. What is neither a proof nor a computation any node with requests does.
 * @throws StartError for a single server with a label less than all: nobody would do the rest
 */
export function nodeWork(
  { labels, database_url: database }: Pick<Config, "labels" | "database_url">,
  role: NodeRole,
): NodeWork {
  const own = new Set(labels.split(","));
  let hasVault = database === undefined;
  if (database === undefined && !(own.has("prove") && own.has("compile")))
    throw new StartError("PROOFWRIGHT_LABELS is for nodes of a cluster: a single server has to do all of its work.");
  return {
    makesKeysForOthers: database !== undefined && own.has("compile"),
    takes: (kind) => {
      const label = LABELS.get(kind);
      const isOwn = label === undefined ? role === "server" : own.has(label);
      // Deployments wait for keys. Connectors wait for secrets where there are any, which their runners know.
      return isOwn && (hasVault || (label === undefined && kind !== DEPLOY_JOB));
    },
    hasVault: () => hasVault,
    vaultIs: (isUnsealed) => {
      hasVault = database === undefined || isUnsealed;
    },
  };
}
