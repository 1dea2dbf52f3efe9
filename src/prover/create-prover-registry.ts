/**
 * Builds the prover registry, each part after those that it uses, and hands its durable jobs to the runner. The only
 * file of this area that builds the others.
 */
import { join } from "node:path";
import { formatSubject, type Subject } from "../platform/auth/principal.js";
import type { RequireTenant } from "../platform/auth/said-owner.js";
import { SOURCE_FILES_DEFAULT, SOURCE_MEGABYTES_DEFAULT } from "../engine/circuit/source-limits.js";
import type { AuditEvent } from "../platform/audit/audit-event.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { Events } from "../platform/events/events.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import type { Log } from "../platform/log.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import type { KeyImages } from "./compute/keys/key-images.js";
import type { ResidentBytes } from "./compute/keys/resident-bytes.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import type { VaultService } from "../vault/service.js";
import { analysisQueue, registerAnalyses } from "./analysis/analysis-jobs.js";
import type { CircuitAnalyzer } from "./compute/analysis-task.js";
import type { Store } from "../platform/store/store.js";
import { Catalog, parseProviderAliases } from "./catalog.js";
import { CeremonyRecords } from "./ceremonies/ceremony-records.js";
import type { CeremonySweep } from "./ceremonies/ceremony-sweep.js";
import { createCeremonies, type CeremoniesPart } from "./ceremonies/create-ceremonies.js";
import { FirstKeys } from "./ceremonies/first-keys.js";
import type { GithubIdentities } from "./ceremonies/statements/github-identities.js";
import { ClosedInputs } from "./closed-inputs/closed-inputs.js";
import { InputKeys } from "./closed-inputs/input-keys.js";
import { CircuitOrigins } from "./circuit-origins.js";
import type { CeremonyCompute } from "./compute/ceremony-compute.js";
import type { ProverCompute } from "./compute/compute.js";
import { proverBodyLimits, proverHandlers } from "./handlers.js";
import { createMadeFiles, keyImageMarks, usedFiles } from "./provisioning/create-prover-files.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import { KnownKeys } from "./provisioning/known-keys.js";
import { KeyPins } from "./provisioning/key-pins.js";
import { OrphanFiles, type SharingNodes } from "./orphan-files.js";
import { ProverFiles } from "./prover-files.js";
import { KeyWarming } from "./proofs/key-warming.js";
import { Proofs } from "./proofs/proofs.js";
import type { VerifierContracts } from "./proofs/verifier-contracts.js";
import { ProofRemovals } from "./proofs/proof-removals.js";
import { ProofPace } from "./proofs/proof-pace.js";
import { ProveRequests } from "./proofs/prove-requests.js";
import { createProofJobs, type ProofJobLimits, type ProofJobsPart } from "./proof-jobs/create-proof-jobs.js";
import { mergeCommits } from "../platform/store/commits.js";
import { ContractCodes, type CompileContract } from "./assurance/contract-code.js";
import { CrossChecks } from "./assurance/cross-checks.js";
import { Labelling } from "./labels/labelling.js";
import type { ReceiptIssuer } from "./receipts/receipt-claims.js";
import { receiptHandlers } from "./receipts/receipt-handlers.js";
import { ReceiptKeys } from "./receipts/receipt-keys.js";
import { Receipts } from "./receipts/receipts.js";
import { Places } from "./sharing/places.js";
import { ProverAccess } from "./sharing/prover-access.js";
import { SharedProvers } from "./sharing/shared-provers.js";
import { sharingHandlers } from "./sharing/sharing-handlers.js";
import type { ProviderDependencies, ProviderFactory } from "./providers/provider.js";
import { PROVIDERS } from "./providers/table.js";
import type { ContractPort } from "../chain/contracts/contract-port.js";
import { createVerifiers } from "./on-chain/create-verifiers.js";
import { verifierHandlers } from "./on-chain/verifier-handlers.js";
import { VerifierQueue } from "./on-chain/verifier-queue.js";
import {
  provisioningQueue,
  registerProvisioning,
  strictEnd,
  type ProvisioningJobsOptions,
} from "./provisioning/provisioning-jobs.js";
import { Provisioning, type ProvisioningDependencies } from "./provisioning/provisioning.js";
import { ReferenceStrings } from "./provisioning/reference-strings.js";
import { createReferenceStrings } from "./reference-strings/create-reference-strings.js";
import { PowersRecords } from "./reference-strings/powers-records.js";
import type { NodeFolders } from "./reference-strings/node-folders.js";
import type { PublishedStringsDependencies } from "./reference-strings/published-strings.js";
import { ProverRepository } from "./repository.js";
import { PROVE_DEADLINE_MS, WAIT_SEC_MAX, type proverRoutes } from "./routes.js";
import { ProverService, type AnalysisQueue, type ProvisioningQueue } from "./service.js";
import { BuiltInCircuits, type SourceLimits } from "./provisioning/sources.js";
import { Imports } from "./imports/imports.js";
import { Uploads, type UploadLimits } from "./imports/uploads.js";
import { placeOf } from "./provisioning/prover-steps.js";
import { ProvisioningProgress } from "./provisioning/provisioning-progress.js";
import type { Nodes } from "../platform/nodes/nodes.js";
import { StatusWatch } from "./provisioning/status-watch.js";
import { createProofStores, openProofStores } from "./stores/create-proof-stores.js";
import { storeHandlers } from "./stores/store-handlers.js";
import { StoresService } from "./stores/stores-service.js";
import { proverVault } from "./vault-port.js";

const PROVER_TABLE = "prover";
/** Tables whose changes requests wait for; their keys end with the id that is waited for. */
const WATCHED_TABLES = [PROVER_TABLE, "prover_analysis", "prover_verifier", "proof_job", "ceremony"];

/** Returns what requests wait with, which other nodes wake as well. */
function watchOf({ nodes }: Pick<ProverRegistryDependencies, "nodes">): StatusWatch {
  const watch = new StatusWatch();
  for (const table of WATCHED_TABLES)
    nodes?.onChange(table, (keys) => {
      watch.noteKeys(keys);
    });
  return watch;
}

interface ProverRegistryOptions extends ProvisioningJobsOptions {
  /** Threads that prove: as many jobs make proofs at a time. 1 unless given. */
  readonly proveThreads?: number;
  /** Jobs that one owner, and that all owners, may have waiting. Those of the service unless given. */
  readonly proofJobLimits?: Omit<ProofJobLimits, "concurrency">;
  /** Other names of providers, as `alias:provider,alias:provider`. */
  readonly providerAliases: string;
  /**
   * Memory of an open key from which on a circuit is provisioned in a line of its own, one at a time. 256 MiB unless
   * given.
   */
  readonly largeBytes?: number;
  /** Provers of one owner in provisioning, 2 that run and 20 that wait. 22 unless given. */
  readonly pendingPerOwnerMax?: number;
  /** Provers of all owners in provisioning. 500 unless given. */
  readonly pendingMax?: number;
  /** Of the source of one circuit; 8 MiB and 2,000 files unless given. */
  readonly source?: SourceLimits;
  /** Longest uploaded file. 2,047 MiB unless given. */
  readonly uploadBytesMax?: number;
  /** Disk for the `.zkey` files of one owner that are made on demand. 8 GiB unless given. */
  readonly zkeyBytesPerOwnerMax?: number;
  /** Longest uploaded powers-of-tau file. 2 GiB unless given. */
  readonly powersUploadBytesMax?: number;
  /** The operator's folder of powers-of-tau files. None unless given. */
  readonly powersFolder?: string;
  /** Whether other nodes leave keys to this one that take a file of the folder. False unless given. */
  readonly tellsPowersFolder?: boolean;
  /** Whether reference strings for development may be made where none is published. True unless given. */
  readonly makesDevelopmentStrings?: boolean;
  /** In whose name receipts are signed. */
  readonly receiptIssuer?: ReceiptIssuer;
}

interface ProverRegistryDependencies {
  readonly store: Store;
  readonly artifacts: Artifacts;
  /** The nodes that have the same artifacts; a single server unless given. */
  readonly cluster?: SharingNodes | undefined;
  readonly vault: VaultService;
  /** The nodes that share the store; without it there is no other. */
  readonly nodes?: Nodes;
  /** Not started yet: the runner of this area's jobs is registered here. */
  readonly jobs: Jobs;
  /** Proving keys and witness programs in shared memory. */
  readonly resident: ResidentBytes;
  /** Images of open keys on this server's disk; none are kept unless given. */
  readonly images?: KeyImages | undefined;
  readonly compute: ProverCompute;
  readonly ceremonyCompute: CeremonyCompute;
  /** Asked whose SSH key signed a contribution; nobody is without it. */
  readonly github?: Pick<GithubIdentities, "requirePublished"> | undefined;
  /** Those of the table unless given. */
  readonly providers?: readonly ProviderFactory[];
  /** Checks a powers-of-tau file in a process of its own. */
  readonly checkPowers: PublishedStringsDependencies["check"];
  /** Absent when the server analyses no circuits. */
  readonly analyzer?: CircuitAnalyzer;
  readonly events: Pick<Events, "commitOf">;
  /** Compiles verifier contracts for cross-checks, which ask no contract without it. */
  readonly compileContract?: CompileContract;
  /** Records in the audit log that a proof uses secrets or keys; resolves when it is on disk. */
  readonly recordUse: (event: AuditEvent) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Throws unless the caller holds the permissions on an application or organization that a body names. */
  readonly requireTenant: RequireTenant;
  /** The name under which a subject's work waits for its turn; the subject's own unless given. */
  readonly turnOf?: (subject: Subject) => string;
  /** The chain area, which is built later; asked only with requests and by jobs. */
  readonly chain: () => ContractPort;
  /** Writes a row of the audit log that no request is the cause of. */
  readonly audit: (event: AuditEvent) => Promise<void>;
  /** How long deployments of verifiers wait for nodes and for blocks. Ten minutes and an hour unless given. */
  readonly verifierPatience?: Parameters<typeof createVerifiers>[0];
}

export interface ProverRegistry {
  readonly service: ProverService;
  /** Provers of others that a subject uses. */
  readonly sharing: SharedProvers;
  /** The stores of notes and nullifiers, as their owners read them. */
  readonly stores: StoresService;
  readonly handlers: HandlersFor<typeof proverRoutes>;
  /** Counts how often verifiers disagreed. */
  readonly crossChecks: Pick<CrossChecks, "disagreements">;
  readonly bodyLimits: ReturnType<typeof proverBodyLimits>;
  /** Deletes files of this server's folder that no record names; at start, before any is written. Returns how many. */
  readonly removeOrphans: () => Promise<number>;
  /** Goes on deleting them while a node of a cluster runs. */
  readonly orphans: Pick<OrphanFiles, "removeShared" | "start" | "stop">;
  /** Opens keys ahead of their first proofs, while the server runs. */
  readonly warming: Pick<KeyWarming, "start" | "add" | "stop">;
  /** Returns whether anybody has a prover. */
  readonly hasProvers: () => boolean;
  /** Drops uploads and imports whose time is up, while the server runs. */
  readonly imports: Pick<Imports, "start" | "stop">;
  /** Tells other nodes of this one's powers-of-tau files, while it runs; to be started before its jobs. */
  readonly powersFolders: Pick<NodeFolders, "start" | "stop">;
  /** Passes on turns of ceremonies, while the server runs. */
  readonly ceremonies: Pick<CeremonySweep, "start" | "stop" | "sweep">;
  /** Returns how often a verifier contract disagreed with this server, or had other code, since the start. */
  readonly verifierDisagreements: () => number;
  /** Proofs that are made as jobs; the sweep runs while the server does. */
  readonly proofJobs: ProofJobsPart;
}

const SOURCE_LIMITS: SourceLimits = {
  bytesMax: SOURCE_MEGABYTES_DEFAULT * 2 ** 20,
  filesMax: SOURCE_FILES_DEFAULT,
};
/** Node reads less than 2 GiB of a file at once. */
const UPLOAD_BYTES_MAX = 2047 * 1024 ** 2;
/** That of 2^20 powers, with all Lagrange points, has 1.2 GB. */
const POWERS_BYTES_MAX = 2 ** 31;
/** The files of two large circuits with their keys. */
const UPLOADS_PER_OWNER = 2;
const UPLOADS: Omit<UploadLimits, "bytesPerOwnerMax" | "fileBytesMax"> = {
  openPerOwnerMax: 8,
  openMax: 256,
  idleMs: 3_600_000,
};
/** About 2^17 constraints with Groth16, 2^16 gates with PLONK, 2^15 with FFLONK: some ten seconds of setup. */
const LARGE_BYTES = 256 * 2 ** 20;
const PENDING_PER_OWNER_MAX = 22;
const PENDING_MAX = 500;
/** Verification takes milliseconds; a caller that has waited this long for a thread gets an answer instead. */
const VERIFY_DEADLINE_MS = 15_000;
/** It waits behind proofs for a thread. */
const CROSS_CHECK_DEADLINE_MS = 60_000;
/** Of a registry without a server around it. */
const UNNAMED_ISSUER: ReceiptIssuer = { issuer: "urn:proofwright:unnamed", version: "unreleased" };

/** Builds the registry and registers the runner of its jobs; call it before `jobs.start`. */
export function createProverRegistry(
  options: ProverRegistryOptions,
  dependencies: ProverRegistryDependencies,
): ProverRegistry {
  const { store, artifacts, resident, events, clock, log } = dependencies;
  const turnOf = dependencies.turnOf ?? formatSubject;
  const vault = proverVault(dependencies.vault);
  const pace = new ProofPace({ threads: threadsOf(options) }, dependencies);
  const repository = new ProverRepository({ store, pace });
  const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
  const source = options.source ?? SOURCE_LIMITS;
  const catalog = createCatalog(options, dependencies, { builtIns, sourceLimits: source });
  const { stores, removals } = openProofStores(dependencies, turnOf);
  const proofRemovals = registeredProofRemovals(dependencies, turnOf);
  const [pins, powers] = [new KeyPins({ vault, catalog }), new PowersRecords({ store })];
  const files = usedFiles(dependencies, { repository, powers });
  const { strings, ...published } = openReferenceStrings(options, dependencies, { repository, powers, files });
  const [watch, progress] = [watchOf(dependencies), new ProvisioningProgress(clock)];
  const kept = { store, repository, catalog, vault, stores, proofRemovals, clock };
  const { access, places, labelling, sharing } = createUse(kept);
  const trees = createProofStores({ ...dependencies, vault, stores, repository, catalog, access, places, turnOf });
  const uploadBytesMax = options.uploadBytesMax ?? UPLOAD_BYTES_MAX;
  const parts = {
    ...{ repository, files, catalog, builtIns, pins, strings, vault },
    ...{ watch, progress, turnOf, powers, keyImages: keyImageMarks(dependencies, vault) },
  };
  const proofs = createProofs({ ...parts, ...trees, access, places, stores, artifacts, resident, events, clock, pace });
  const bounded = { ...options, uploadBytesMax };
  const { queue, analyses, ceremonies, ...provisioned } = createProvisioning(bounded, dependencies, parts);
  const imports = createImports({ ...parts, ...dependencies, queue }, uploadBytesMax);
  const origins = new CircuitOrigins({ catalog, files, imports, strings });
  const made = createMadeFiles(options, { ...parts, store, artifacts, resident });
  const chained = createChained(dependencies, { ...parts, ...provisioned, ...made, access, proofs });
  const downloads = new ProverFiles({ ...parts, access, artifacts, imports, ...made });
  const service = new ProverService(serviceLimits(options), {
    ...{ store, repository, artifacts, vault, catalog, origins, stores, proofs, clock, queue, analyses },
    ...{ files, imports, strings, downloads, access, places, proofRemovals, watch, progress },
    ...{ ceremonies: ceremonies.registration, ...chained, requireTenant: dependencies.requireTenant },
  });
  const attesting = createReceipts(options.receiptIssuer ?? UNNAMED_ISSUER, dependencies, { ...parts, ...made });
  const reading = new StoresService({ ...trees, stores, access, places });
  const warming = new KeyWarming({ ...parts, artifacts, resident, log });
  const given = { ...parts, access, places, labelling, pace, proofs, provers: service, receipts: attesting.receipts };
  const { proofJobs, ...proving } = createProving(options, dependencies, given);
  const handled = { ...attesting, provers: service, labelling, ceremonies, referenceStrings: published.handlers };
  return {
    ...{ service, sharing, stores: reading, crossChecks: attesting.crossChecks, hasProvers: () => repository.hasAny() },
    handlers: proverHandlers({
      ...{ ...handled, ...proving, stores: storeHandlers(reading, labelling), sharing: sharingHandlers(sharing) },
      ...{ verifiers: verifierHandlers(chained.verifiers), requireTenant: dependencies.requireTenant },
    }),
    bodyLimits: proverBodyLimits(
      { source, uploadBytesMax, powersBytesMax: options.powersUploadBytesMax ?? POWERS_BYTES_MAX },
      { provers: service, labelling, ceremonies },
    ),
    ...orphanRemoval(dependencies, { resumed: [removals, proofRemovals], ...published }),
    ...{ imports, ceremonies: ceremonies.sweep, proofJobs, warming, powersFolders: published.folders },
    verifierDisagreements: () => chained.onChain.disagreements,
  };
}

/** What goes on at the start where a crash has ended it, and the removal of files that nothing names. */
function orphanRemoval(
  dependencies: ProverRegistryDependencies,
  {
    resumed,
    uploads,
  }: {
    readonly resumed: readonly { readonly resume: () => Promise<void> }[];
    readonly uploads: { readonly start: () => Promise<void> };
  },
): Pick<ProverRegistry, "orphans" | "removeOrphans"> {
  const orphans = new OrphanFiles({}, { ...dependencies, keyImages: dependencies.images });
  return {
    orphans,
    removeOrphans: async () => {
      await uploads.start();
      for (const each of resumed) await each.resume();
      return await orphans.removeHere();
    },
  };
}

function registeredProofRemovals(
  dependencies: ProverRegistryDependencies,
  turnOf: (subject: Subject) => string,
): ProofRemovals {
  const removals = new ProofRemovals(dependencies);
  removals.register(turnOf);
  return removals;
}

/** Threads that prove. */
function threadsOf({ proveThreads = 1 }: ProverRegistryOptions): number {
  return proveThreads;
}

function createProofs(parts: ConstructorParameters<typeof Proofs>[1]): Proofs {
  return new Proofs({ proveDeadlineMs: PROVE_DEADLINE_MS, verifyDeadlineMs: VERIFY_DEADLINE_MS }, parts);
}

/** Requests for proofs, answered at once or as jobs. */
function createProving(
  options: ProverRegistryOptions,
  dependencies: ProverRegistryDependencies,
  parts: Parameters<typeof createClosedInputs>[1] &
    Omit<ConstructorParameters<typeof ProveRequests>[0], "closedInputs"> &
    Pick<Parameters<typeof createProofJobs>[1], "vault" | "access" | "places" | "pace" | "turnOf" | "watch">,
): ReturnType<typeof createClosedInputs> & {
  readonly proofJobs: ProofJobsPart;
  readonly proving: { readonly jobs: ProofJobsPart["jobs"]; readonly requests: ProveRequests };
} {
  const closed = createClosedInputs(dependencies, parts);
  const requests = new ProveRequests({ ...parts, ...closed });
  const limits = { concurrency: threadsOf(options), ...options.proofJobLimits };
  const proofJobs = createProofJobs(limits, { ...dependencies, ...parts, requests });
  return { ...closed, proofJobs, proving: { jobs: proofJobs.jobs, requests } };
}

/** Verifiers on chain, of parts that were built before. */
function createChained(
  dependencies: ProverRegistryDependencies,
  parts: ProvisioningParts & {
    readonly access: ProverAccess;
    readonly proofs: Proofs;
    readonly provisioning: Provisioning;
    readonly verifierQueue: VerifierQueue;
    readonly contracts: VerifierContracts;
  },
): ReturnType<typeof createVerifiers> {
  return createVerifiers(dependencies.verifierPatience, {
    ...{ ...dependencies, ...parts, records: parts.repository.verifiers, queue: parts.verifierQueue },
    ...{ proveDeadlineMs: PROVE_DEADLINE_MS, verifyDeadlineMs: VERIFY_DEADLINE_MS },
  });
}

function createClosedInputs(
  { store, vault, recordUse }: ProverRegistryDependencies,
  parts: Omit<ConstructorParameters<typeof InputKeys>[0], "store" | "vault">,
): { readonly closedInputs: ClosedInputs; readonly inputKeys: InputKeys } {
  return {
    closedInputs: new ClosedInputs({ vault: vault.handed, recordUse }),
    inputKeys: new InputKeys({ ...parts, store, vault }),
  };
}

function serviceLimits(options: ProverRegistryOptions): ConstructorParameters<typeof ProverService>[0] {
  return {
    pendingPerOwnerMax: options.pendingPerOwnerMax ?? PENDING_PER_OWNER_MAX,
    pendingMax: options.pendingMax ?? PENDING_MAX,
    waitSecMax: WAIT_SEC_MAX,
  };
}

/** Receipts, the keys that sign them, and the verifiers that are asked beside the server's own. */
function createReceipts(
  issuer: ReceiptIssuer,
  { store, artifacts, events, audit, compileContract, clock, log }: ProverRegistryDependencies,
  parts: Pick<ConstructorParameters<typeof ContractCodes>[0], "contracts" | "catalog"> & {
    readonly catalog: Catalog;
    readonly vault: ConstructorParameters<typeof ReceiptKeys>[0]["vault"];
    readonly repository: ProverRepository;
    readonly turnOf: (subject: Subject) => string;
  },
): {
  readonly receipts: Receipts;
  readonly receiptRoutes: ReturnType<typeof receiptHandlers>;
  readonly crossChecks: CrossChecks;
} {
  const { contracts, catalog, vault, repository, turnOf } = parts;
  const keys = new ReceiptKeys({ store, vault, clock });
  const codes = new ContractCodes({ contracts, artifacts, catalog, compile: compileContract });
  const crossChecks = new CrossChecks(
    { deadlineMs: CROSS_CHECK_DEADLINE_MS },
    { catalog, codes, turnOf, store, events, audit, log },
  );
  const receipts = new Receipts(issuer, { keys, checks: crossChecks, clock });
  return { receipts, receiptRoutes: receiptHandlers({ keys, repository }), crossChecks };
}

/** What provers are called, and who may use them. */
function createUse(
  parts: ConstructorParameters<typeof Labelling>[0] &
    ConstructorParameters<typeof Places>[0] &
    Omit<ConstructorParameters<typeof SharedProvers>[0], "access" | "places">,
): Pick<ProverRegistry, "sharing"> & {
  readonly access: ProverAccess;
  readonly places: Places;
  readonly labelling: Labelling;
} {
  const access = new ProverAccess(parts);
  const places = new Places(parts);
  return { access, places, labelling: new Labelling(parts), sharing: new SharedProvers({ ...parts, access, places }) };
}

/** Builds the providers with what this server has for them. */
function createCatalog(
  { providerAliases }: ProverRegistryOptions,
  { compute, artifacts, providers = PROVIDERS }: ProverRegistryDependencies,
  given: Pick<ProviderDependencies, "builtIns" | "sourceLimits">,
): Catalog {
  const readArtifact = async (sha256: string): Promise<Uint8Array> => await artifacts.read(sha256);
  return new Catalog(
    { providerAliases: parseProviderAliases(providerAliases) },
    { providers: providers.map((create) => create({ ...given, compute, readArtifact })) },
  );
}

interface ProvisioningParts extends Pick<
  ProvisioningDependencies,
  "repository" | "files" | "catalog" | "pins" | "strings" | "vault"
> {
  readonly builtIns: BuiltInCircuits;
  readonly watch: StatusWatch;
  readonly progress: ProvisioningProgress;
  readonly turnOf: (subject: Subject) => string;
  readonly repository: ProverRepository;
  readonly powers: PowersRecords;
}

/** Registers the jobs of provisioning with those of ceremonies and, where circuits are analysed, of analyses. */
function createProvisioning(
  options: ProverRegistryOptions & { readonly uploadBytesMax: number },
  dependencies: ProverRegistryDependencies,
  parts: ProvisioningParts,
): {
  readonly queue: ProvisioningQueue;
  readonly analyses: AnalysisQueue | undefined;
  readonly ceremonies: CeremoniesPart;
  readonly provisioning: Provisioning;
  readonly verifierQueue: VerifierQueue;
} {
  const { jobs, artifacts, events, clock, log, analyzer, ceremonyCompute } = dependencies;
  const { repository, files, catalog, builtIns, watch, progress, turnOf } = parts;
  const records = new CeremonyRecords(dependencies);
  const ceremony = { ...parts, ...dependencies, records, compute: ceremonyCompute };
  const verifierQueue = new VerifierQueue({ records: repository.verifiers, jobs, watch, clock });
  const queue = provisioningQueue(jobs);
  const analyses = analyzer === undefined ? undefined : analysisQueue(jobs, repository);
  const provisioning = new Provisioning(
    { largeBytes: options.largeBytes ?? LARGE_BYTES },
    {
      ...{ ...parts, knownKeys: new KnownKeys(parts), artifacts, events, clock, log },
      firstKeys: new FirstKeys(ceremony),
      planned: (prover) => verifierQueue.planned(prover),
      followUp: (prover) => {
        const { id, build } = prover;
        // A circuit from outside has no source to analyse.
        const isAnalyzed = build.import === undefined && catalog.providerOf(prover).isAnalyzed;
        const analysis = build.is_strict === true || !isAnalyzed ? undefined : analyses?.prepare(build.owner, id);
        return mergeCommits(repository.labels.provisioning(prover), analysis ?? {}, ceremonies.ended(prover));
      },
    },
  );
  const findPowers: PowersRecords["findChecked"] = (sha256) => parts.powers.findChecked(sha256);
  const ceremonies = createCeremonies(options, { ...ceremony, turnOf, provisioning, findPowers });
  registerProvisioning(jobs, options, {
    ...{ provisioning, strings: parts.strings, progress, watch, turnOf },
    placeOf: (owner, proverId) => {
      const prover = repository.find(owner, proverId)?.value;
      return prover === undefined ? undefined : placeOf(prover, catalog.systemOf(prover));
    },
  });
  if (analyzer !== undefined)
    registerAnalyses(jobs, {
      ...{ repository, artifacts, files, analyzer, builtIns, events, clock, watch, turnOf },
      strict: strictEnd(queue, provisioning),
    });
  return { queue, analyses, ceremonies, provisioning, verifierQueue };
}

function createImports(
  {
    queue,
    nodes,
    ...others
  }: Omit<ConstructorParameters<typeof Imports>[0], "uploads" | "queue"> & {
    readonly artifacts: Artifacts;
    readonly queue: ProvisioningQueue;
    readonly nodes?: Nodes;
  },
  uploadBytesMax: number,
): Imports {
  const limits = { ...UPLOADS, fileBytesMax: uploadBytesMax, bytesPerOwnerMax: UPLOADS_PER_OWNER * uploadBytesMax };
  const imports = new Imports({ ...others, queue, uploads: new Uploads(limits, others) });
  nodes?.onChange(PROVER_TABLE, (keys) => {
    imports.follow(keys);
  });
  return imports;
}

function openReferenceStrings(
  options: ProverRegistryOptions,
  { store, nodes, artifacts, jobs, compute, clock, log, checkPowers }: ProverRegistryDependencies,
  parts: { readonly repository: ProverRepository; readonly powers: PowersRecords; readonly files: SourceFiles },
): Omit<ReturnType<typeof createReferenceStrings>, "strings"> & { readonly strings: ReferenceStrings } {
  const { repository, powers, files } = parts;
  const { powersUploadBytesMax = POWERS_BYTES_MAX, makesDevelopmentStrings = true } = options;
  const { strings: published, ...others } = createReferenceStrings(
    {
      ...{ folder: options.powersFolder, tellsFolder: options.tellsPowersFolder },
      uploadBytesMax: powersUploadBytesMax,
    },
    {
      ...{ store, nodes, artifacts, jobs, clock, log, files, records: powers },
      check: checkPowers,
      forget: (string) => repository.deleteReferenceString(string),
      isUsed: (sha256) => repository.isArtifactUsed(sha256),
      keep: ({ curve, power, sha256, bytes, prepared }, createdAt) =>
        repository.putReferenceString({
          ...{ curve, power, sha256, bytes, origin: "ceremony", created_at: createdAt },
          ...(prepared ? {} : { is_plain: true }),
        }),
    },
  );
  const strings = new ReferenceStrings(
    { makesOwn: makesDevelopmentStrings },
    { store, repository, artifacts, compute, published, clock, log },
  );
  return { strings, ...others };
}
