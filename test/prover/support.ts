/**
 * A prover registry over a real store, real artifacts, a real vault and real durable jobs, whose compute can be made to
 * stumble.
 */
import type { ContractPort } from "../../src/chain/contracts/contract-port.js";
import { AppError, notFound } from "../../src/platform/errors.js";
import type { AuditEvent } from "../../src/platform/audit/audit-event.js";
import type { Principal, Subject } from "../../src/platform/auth/principal.js";
import { PERMISSIONS_MAX } from "../../src/platform/auth/permissions.js";
import { systemClock, type Clock } from "../../src/platform/clock.js";
import { newId } from "../../src/platform/ids.js";
import { Jobs } from "../../src/platform/jobs/jobs.js";
import type { Nodes } from "../../src/platform/nodes/nodes.js";
import { eventCommit } from "../../src/platform/events/event-log.js";
import { ResidentBytes } from "../../src/prover/compute/keys/resident-bytes.js";
import { openArtifacts, type Artifacts } from "../../src/platform/store/artifacts.js";
import type { Store } from "../../src/platform/store/store.js";
import { loadKernelPairing } from "../../src/engine/kernels/pairing/pairing.js";
import { checkPowersOfTau } from "../../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../../src/engine/powers-of-tau/range-file.js";
import type { CompileContract } from "../../src/prover/assurance/contract-code.js";
import type { GithubIdentities } from "../../src/prover/ceremonies/statements/github-identities.js";
import { createProverRegistry, type ProverRegistry } from "../../src/prover/create-prover-registry.js";
import type { CircuitAnalyzer } from "../../src/prover/compute/analysis-task.js";
import type { CeremonyCompute } from "../../src/prover/compute/ceremony-compute.js";
import type { KeyImages } from "../../src/prover/compute/keys/key-images.js";
import type { ProverCompute } from "../../src/prover/compute/compute.js";
import type { ProviderFactory } from "../../src/prover/providers/provider.js";
import type { SourceLimits } from "../../src/prover/provisioning/sources.js";
import type { CreateProver, Prover } from "../../src/prover/schemas.js";
import type { ProverService } from "../../src/prover/service.js";
import { recordedLog, type RecordedLog } from "../support/silent-log.js";
import { openTestVault, type TestVault } from "../vault/support.js";
import { LocalCeremonies } from "./local-ceremonies.js";
import { LocalCompute } from "./local-compute.js";

export interface TestRegistry {
  readonly folder: string;
  readonly store: Store;
  readonly artifacts: Artifacts;
  readonly vault: TestVault;
  readonly jobs: Jobs;
  /** Rows of the audit log that no request is the cause of. */
  readonly audited: readonly AuditEvent[];
  readonly log: RecordedLog;
  readonly registry: ProverRegistry;
  readonly provers: ProverService;
  /** What was recorded of secrets and keys that proofs used. */
  readonly uses: readonly AuditEvent[];
  close(options?: { readonly keep: boolean }): Promise<void>;
}

export interface TestRegistryOptions {
  readonly powersFolder?: string;
  /** True by default. */
  readonly makesDevelopmentStrings?: boolean;
  readonly folder?: string;
  readonly compute?: ProverCompute;
  /** None by default. */
  readonly images?: KeyImages | undefined;
  readonly ceremonyCompute?: CeremonyCompute;
  /** Nobody is asked for contributors' keys without it. */
  readonly github?: Pick<GithubIdentities, "requirePublished">;
  /** A subject's own name by default. */
  readonly turnOf?: (subject: Subject) => string;
  readonly clock?: Clock;
  /** Those of the server's table by default. */
  readonly providers?: readonly ProviderFactory[];
  /** Contracts are not asked without it. */
  readonly compileContract?: CompileContract;
  /** What the area writes to the audit log goes nowhere without it. */
  readonly audit?: (event: AuditEvent) => Promise<void>;
  /** Circuits are not analysed without one. */
  readonly analyzer?: CircuitAnalyzer;
  readonly wrapStore?: (store: Store) => Store;
  readonly providerAliases?: string;
  readonly provisioningConcurrency?: number;
  readonly largeBytes?: number;
  readonly pendingPerOwnerMax?: number;
  readonly pendingMax?: number;
  readonly proveThreads?: number;
  readonly proofJobLimits?: { readonly partsPerOwnerMax?: number; readonly partsMax?: number };
  readonly source?: SourceLimits;
  readonly uploadBytesMax?: number;
  readonly powersUploadBytesMax?: number;
  readonly zkeyBytesPerOwnerMax?: number;
  readonly unsealed?: boolean;
  /** The chain area; without one nothing can be deployed. */
  readonly chain?: () => ContractPort;
  readonly verifierPatience?: { readonly nodePatienceMs: number; readonly followMs: number };
  /** Jobs are left alone until the test starts them. */
  readonly idle?: boolean;
  /** No others by default. */
  readonly nodes?: Nodes;
}

export const CUBIC = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" } as const;
export const PAGE = { page: 1, rpp: 25 };
/** Longest time that a test waits for provisioning; small circuits take a second. */
const WAIT_SEC = 300;

export async function openTestRegistry(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  const vault = await openTestVault({
    isOnThisThread: true,
    ...(options.folder === undefined ? {} : { folder: options.folder }),
    ...(options.wrapStore === undefined ? {} : { wrapStore: options.wrapStore }),
    ...(options.unsealed === undefined ? {} : { unsealed: options.unsealed }),
  });
  const { store, folder } = vault;
  const artifacts = await openArtifacts(`${folder}/artifacts`);
  const log = recordedLog();
  const audited: AuditEvent[] = [];
  const jobs = new Jobs({ retryDelayMs: 20, settleDelayMs: 20 }, { store, clock: systemClock, log });
  const resident = new ResidentBytes(
    { budgetBytes: 256 * 2 ** 20 },
    { load: (sha256) => artifacts.readShared(sha256) },
  );
  const uses: AuditEvent[] = [];
  const registry = createProverRegistry(registryOptions(options), {
    store,
    artifacts,
    jobs,
    resident,
    images: options.images,
    vault: vault.vault,
    compute: options.compute ?? new LocalCompute(),
    ceremonyCompute: options.ceremonyCompute ?? new LocalCeremonies(),
    github: options.github,
    ...(options.turnOf === undefined ? {} : { turnOf: options.turnOf }),
    ...(options.nodes === undefined ? {} : { nodes: options.nodes }),
    ...(options.analyzer === undefined ? {} : { analyzer: options.analyzer }),
    ...(options.compileContract === undefined ? {} : { compileContract: options.compileContract }),
    ...(options.providers === undefined ? {} : { providers: options.providers }),
    checkPowers: async (path) => {
      const file = openRangeFile(path);
      try {
        return { ok: true, value: await checkPowersOfTau(file, loadKernelPairing()) };
      } finally {
        file.close();
      }
    },
    events: { commitOf: (drafts) => eventCommit(drafts, systemClock) },
    clock: options.clock ?? systemClock,
    recordUse: async (event) => {
      uses.push(event);
      await Promise.resolve();
    },
    log,
    chain:
      options.chain ??
      (() => {
        throw new Error("this registry has no chain");
      }),
    audit: async (event) => {
      audited.push(event);
      await options.audit?.(event);
    },
    ...(options.verifierPatience === undefined ? {} : { verifierPatience: options.verifierPatience }),
    requireTenant: (_principal, { kind }) => {
      throw notFound(kind);
    },
  });
  if (options.idle !== true) await jobs.start();
  return {
    folder,
    store,
    artifacts,
    vault,
    jobs,
    audited,
    log,
    registry,
    uses,
    provers: registry.service,
    close: async (closing) => {
      await jobs.stop();
      await vault.close(closing);
    },
  };
}

/** Leaves out what is not given, so that the registry takes its defaults. */
function registryOptions(options: TestRegistryOptions): Parameters<typeof createProverRegistry>[0] {
  const { provisioningConcurrency, pendingPerOwnerMax, pendingMax } = options;
  return {
    providerAliases: options.providerAliases ?? "gnark:circom",
    ...(provisioningConcurrency === undefined ? {} : { provisioningConcurrency }),
    ...(pendingPerOwnerMax === undefined ? {} : { pendingPerOwnerMax }),
    ...(pendingMax === undefined ? {} : { pendingMax }),
    ...(options.largeBytes === undefined ? {} : { largeBytes: options.largeBytes }),
    ...(options.proveThreads === undefined ? {} : { proveThreads: options.proveThreads }),
    ...(options.proofJobLimits === undefined ? {} : { proofJobLimits: options.proofJobLimits }),
    ...(options.source === undefined ? {} : { source: options.source }),
    ...(options.uploadBytesMax === undefined ? {} : { uploadBytesMax: options.uploadBytesMax }),
    ...(options.powersUploadBytesMax === undefined ? {} : { powersUploadBytesMax: options.powersUploadBytesMax }),
    ...(options.zkeyBytesPerOwnerMax === undefined ? {} : { zkeyBytesPerOwnerMax: options.zkeyBytesPerOwnerMax }),
    ...(options.powersFolder === undefined ? {} : { powersFolder: options.powersFolder }),
    makesDevelopmentStrings: options.makesDevelopmentStrings ?? true,
  };
}

/** Registers a prover without waiting for anything. */
export async function register(
  provers: ProverService,
  owner: Subject,
  request: Partial<CreateProver> = {},
): Promise<Prover> {
  const base = request.source === undefined ? CUBIC : { proving_scheme: "groth16", curve: "BN254" };
  return await provers.create(owner, { ...base, ...request }, { waitSec: 0, signal: never });
}

/** Registers a prover and waits for the end of its provisioning. */
export async function provision(
  provers: ProverService,
  owner: Subject,
  request: Partial<CreateProver> = {},
): Promise<Prover> {
  const base = request.source === undefined ? CUBIC : { proving_scheme: "groth16", curve: "BN254" };
  return await provers.create(owner, { ...base, ...request }, { waitSec: WAIT_SEC, signal: never });
}

/** Waits until the condition holds; fails after two minutes. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 120_000;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** A signal that never fires. */
export const never = new AbortController().signal;

export function principalOf(subject: Subject, permissions = PERMISSIONS_MAX): Principal {
  return { subject, permissions, tokenId: newId(), sessionId: newId(), expiresAtSec: 2 ** 31 };
}

/** The failure of a call. */
export async function failureOf(run: () => unknown): Promise<AppError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the call did not fail");
}
