/** The part of the composition root that builds the areas, each after those that it uses. */
import { join } from "node:path";
import type { ContractPort } from "../chain/contracts/contract-port.js";
import type { Chain } from "../chain/create-chain.js";
import { compileSolidityInProcess } from "../chain/contracts/builds/solidity-task.js";
import { requireTenantBy } from "../identity/tenants/tenant-access.js";
import type { Principal, Subject } from "../platform/auth/principal.js";
import type { RequireTenant } from "../platform/auth/said-owner.js";
import { Signal } from "../platform/concurrency/signal.js";
import type { Config } from "../platform/config.js";
import type { Area } from "../platform/contract/route.js";
import { SubscriptionTokens } from "../platform/events/subscription-token.js";
import { SUBSCRIPTION_KEY_FILE } from "../platform/files/data-folder.js";
import { secretKey } from "../platform/files/secret-file.js";
import type { Store } from "../platform/store/store.js";
import { ProcessTasks } from "../platform/pool/process-task.js";
import { BLS12_381 } from "../engine/curves/bls12-381.js";
import { BN254 } from "../engine/curves/bn254.js";
import type { CurveParameters } from "../engine/curves/curve-parameters.js";
import type { NativeCompiler } from "../engine/circuit/compiler/native-compiler.js";
import { parseCompileOwners } from "../prover/compute/compile-allowances.js";
import { serverVersion } from "../platform/service/server-version.js";
import { openNativeCircom } from "../prover/compute/native-circom.js";
import { openSandbox, type Sandbox } from "../platform/pool/sandbox.js";
import { AllowList } from "../platform/net/address-rules.js";
import { createEgressGuard } from "../platform/net/egress-guard.js";
import { References } from "../platform/references.js";
import { ComputePools } from "../prover/compute/compute-pools.js";
import { ProcessAnalyzer } from "../prover/compute/analysis-task.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import { ProcessCeremonies } from "../prover/compute/ceremony-task.js";
import { PooledCompute } from "../prover/compute/pooled-compute.js";
import { checkPowersInProcess } from "../prover/compute/powers-of-tau-task.js";
import { MemoryBudget } from "../platform/concurrency/memory-budget.js";
import { GithubIdentities } from "../prover/ceremonies/statements/github-identities.js";
import { ProverRepository } from "../prover/repository.js";
import { KeyImages } from "../prover/compute/keys/key-images.js";
import { ResidentBytes } from "../prover/compute/keys/resident-bytes.js";
import { createProverRegistry, type ProverRegistry } from "../prover/create-prover-registry.js";
import { createVault, type Vault } from "../vault/create-vault.js";
import { checkSealSettings } from "../vault/seal/providers/select-provider.js";
import { admitSealStart } from "../vault/seal/start-mode.js";
import type { WebhookParts } from "../platform/webhooks/create-webhooks.js";
import { egressRules, openChain } from "./open-chain.js";
import { openWebhooks } from "./open-webhooks.js";
import { KernelForm } from "./kernel-form.js";
import { WitnessRoutines } from "./witness-routines.js";
import { openIdentity, type IdentityParts } from "./open-identity.js";
import type { Platform } from "./open-platform.js";

export interface Areas {
  readonly vault: Vault;
  readonly pools: ComputePools;
  readonly kernelForm: KernelForm;
  readonly sandbox: Sandbox;
  readonly provers: ProverRegistry;
  readonly identityParts: IdentityParts;
  readonly chain: Chain;
  readonly webhooks: WebhookParts;
  readonly subscriptionTokens: SubscriptionTokens;
}

/**
 * Verification takes milliseconds: one thread serves a few hundred a second, and a short queue keeps the wait short.
 */
const INTERACTIVE_THREADS = 1;
const INTERACTIVE_QUEUE_MAX = 512;
/** A thread that dies under a proof loses its workspace until the key is opened again, which the next proof does. */
const SPARE_WORKSPACES = 2;
/** Vault operations take microseconds; this bounds memory, not time. */
const VAULT_QUEUE_MAX = 4096;
const MIB = 1024 * 1024;
/** Of all, to see which curves are in use: 10 us each. */
const PROVERS_LOOKED_AT = 1_000;
/** In the data folder; nothing depends on it. */
const KEY_IMAGES_FOLDER = "key-images";

/** Builds all areas: vault, provers, identity, chain. Only the vault is running afterwards. */
export async function openAreas(platform: Platform): Promise<Areas> {
  const { config, dataDir, audit, events, jobs, clock, log } = platform;
  const unsealed = new Signal();
  const ownerDeleted = new Signal<Subject>();
  // Identity is built last of those that take turns, and the vault answers nothing before it is started.
  const turnOfName = (owner: string): string => identityParts.identity.services.turns.ofName(owner);
  const vault = await openVault(platform, { unsealed, turnOf: turnOfName });
  const sandbox = await openSandbox({ mode: config.sandbox }, { log });
  const tasks = new ProcessTasks({ sandbox });
  const { pools, kernelForm } = await openPools(platform, tasks);
  // Identity is built after the provers, who ask it only with requests.
  const requireTenant: RequireTenant = (...asked) => {
    requireTenantBy(identityParts.identity.services.access)(...asked);
  };
  const turnOf = (owner: Subject): string => identityParts.identity.services.turns.of(owner);
  const compiler =
    config.circom === undefined
      ? undefined
      : await openNativeCircom(config.circom, { memoryMb: config.compile_memory_mb, tools: sandbox.tools });
  // The chain area is built after the provers, who ask it only with requests and by jobs.
  const contracts = (): ContractPort => chain.contracts;
  const images = await openKeyImages(platform, pools);
  const provers = createProvers(platform, { images, pools, tasks, vault, requireTenant, turnOf, compiler, contracts });
  const references = new References();
  const identityParts = await openIdentity(config, dataDir, {
    store: audit.identityStore,
    clock,
    log,
    nodes: platform.nodes,
    secretOf: platform.secretOf,
    events,
    vault: vault.service,
    provers,
    ownerDeleted,
    references,
  });
  const { bearers } = identityParts.identity.services;
  const subscriptionTokens = new SubscriptionTokens(
    { key: await serverKey(platform, SUBSCRIPTION_KEY_FILE) },
    { clock, standingOf: (subject, sessionId) => bearers.standingOf(subject, sessionId) },
  );
  const chain = openChain(config, {
    store: audit.vaultStore,
    nodes: platform.nodes,
    vault: vault.service,
    jobs,
    tasks,
    events,
    subscriptionTokens,
    clock,
    log,
    references,
    requireTenant,
    ...{ hasVault: platform.work.hasVault, turnOf },
  });
  const webhooks = openWebhooks(platform, { vault: vault.service, identity: identityParts.identity.services });
  for (const part of [chain, webhooks]) {
    unsealed.on(() => part.wake());
    ownerDeleted.on((owner) => part.purge(owner));
  }
  await vault.start();
  return { vault, pools, kernelForm, sandbox, provers, identityParts, chain, webhooks, subscriptionTokens };
}

/** True where the server makes its own seal key: in development mode, without settings of another one. */
export function makesOwnSealKey({
  mode,
  seal_unseal_validation_hash: hash,
  seal_unseal_provider: provider,
}: Config): boolean {
  return mode === "development" && hash === undefined && provider === undefined;
}

/** Authenticates a bearer token. Subscription tokens can only listen to events, so only the chain area takes them. */
export function authenticate(
  { identityParts, subscriptionTokens }: Areas,
  token: string,
  area: Area,
): Principal | Promise<Principal> {
  if (!SubscriptionTokens.isOne(token) || area !== "chain") return identityParts.identity.authenticate(token, area);
  return subscriptionTokens.authenticate(token);
}

/** Returns a key of the server's own, such as that of idempotency hashes, which is made on the first start. */
export async function serverKey({ secretOf }: Pick<Platform, "secretOf">, name: string): Promise<Buffer> {
  return await secretKey(secretOf(name), "delete it to have a new one made");
}

async function openVault(
  { config, dataDir, audit, auditUnwritable, jobs, work, nodes, membership, clock, log }: Platform,
  { unsealed, turnOf }: { readonly unsealed: Signal; readonly turnOf: (owner: string) => string },
): Promise<Vault> {
  const makesOwnKey = makesOwnSealKey(config);
  // Before the mode is remembered for good: a start that fails leaves the folder to another mode.
  if (!makesOwnKey) checkSealSettings(config, { store: audit.vaultStore, clock, log });
  const { mode, seal_unseal_validation_hash: validationHash } = config;
  await admitSealStart({ mode, makesOwnKey, dataDir, validationHash }, { store: audit.vaultStore, clock });
  const vault = await createVault(
    { queueLengthMax: VAULT_QUEUE_MAX, seal: makesOwnKey ? { developmentDataDir: dataDir } : { settings: config } },
    {
      store: audit.vaultStore,
      clock,
      log,
      nodes,
      turnOf,
      onUnsealed: () => void unsealed.emit(),
      onSealChange: async ({ action, code }) => {
        if (action !== "unsealing_failed") {
          work.vaultIs(action === "unsealed");
          jobs.giveBack();
        }
        if (action === "fault_sealed") void membership?.leaveIfDamaged();
        const outcome = code === undefined ? { outcome: "ok" as const } : { outcome: "refused" as const, code };
        await audit.trail.append({ action: `seal.${action}`, ...outcome });
      },
    },
  );
  unsealed.on(() => jobs.wake());
  auditUnwritable.on(() => vault.sealByFault("the audit log cannot be written"));
  return vault;
}

/** The pairings that are worth a trial: the usual one, and that of BLS12-381 where there are provers over it. */
function pairingsInUse(store: Store): readonly CurveParameters[] {
  try {
    const provers = new ProverRepository({ store }).someOfAll(PROVERS_LOOKED_AT);
    return provers.some(({ curve }) => curve === BLS12_381.name) ? [BN254, BLS12_381] : [BN254];
  } catch {
    // A damaged record is told to whoever asks for it, and is no reason not to start.
    return [BN254];
  }
}

/** The threads that compute, after what they compute with was chosen. */
async function openPools(
  { config, audit, log }: Platform,
  tasks: ProcessTasks,
): Promise<{ readonly pools: ComputePools; readonly kernelForm: KernelForm }> {
  const mode = config.kernels === "wasm" ? config.wide : "off";
  const kernelForm = await KernelForm.open({ mode, pairings: pairingsInUse(audit.vaultStore) }, { tasks, log });
  const witnessRoutines = new WitnessRoutines({ mode: config.witness_routines }, { log });
  const pools = new ComputePools(
    {
      proveThreads: config.prove_threads,
      proveHelpersMax: config.prove_helpers,
      interactiveThreads: INTERACTIVE_THREADS,
      proveQueueLengthMax: config.prove_queue,
      interactiveQueueLengthMax: INTERACTIVE_QUEUE_MAX,
      kernels: config.kernels,
      onComputed: () => {
        kernelForm.tellDiscards();
        witnessRoutines.tellEnd();
      },
    },
    { log },
  );
  return { pools, kernelForm };
}

/** What compilations may take. */
function allowancesOf(
  config: Config,
): Pick<ConstructorParameters<typeof PooledCompute>[0], "compile" | "compileOwners"> {
  return {
    compile: { memoryMb: config.compile_memory_mb, seconds: config.compile_seconds },
    compileOwners: parseCompileOwners(config.compile_owners),
  };
}

/** What the registry takes of others to compare verifiers, and to tell when they disagree. */
function crossCheckParts(
  { trail }: Platform["audit"],
  tasks: ProcessTasks,
): Pick<Parameters<typeof createProverRegistry>[1], "audit" | "compileContract"> {
  return {
    audit: async (event) => {
      await trail.append(event);
    },
    compileContract: async (request) => {
      const compiled = await compileSolidityInProcess(tasks, request);
      return compiled.settled ? compiled.result : undefined;
    },
  };
}

/** The images of open keys; undefined where no disk is set for them, or no key is ever open. */
async function openKeyImages(
  { config, dataDir, log }: Pick<Platform, "config" | "dataDir" | "log">,
  pools: ComputePools,
): Promise<KeyImages | undefined> {
  if (config.key_image_mb === 0 || config.kernels !== "wasm") return undefined;
  const options = {
    folder: join(dataDir, KEY_IMAGES_FOLDER),
    bytesMax: config.key_image_mb * MIB,
    version: serverVersion(),
  };
  try {
    return await KeyImages.open(options, { pools, log });
  } catch (error) {
    log.warn("images of open proving keys are not kept: their folder cannot be used", { path: options.folder, error });
    return undefined;
  }
}

/** What the prover registry takes beside the platform. */
interface ProverParts {
  readonly contracts: () => ContractPort;
  readonly compiler: NativeCompiler | undefined;
  readonly pools: ComputePools;
  readonly images: KeyImages | undefined;
  readonly tasks: ProcessTasks;
  readonly vault: Vault;
  readonly requireTenant: RequireTenant;
  readonly turnOf: (owner: Subject) => string;
}

/** Who is asked for the keys of contributors; nobody where the setting says so, or is empty on the command line. */
function githubIdentities(
  config: Config,
  { clock, nodes }: Pick<Platform, "clock" | "nodes">,
): GithubIdentities | undefined {
  if (["", "none"].includes(config.github_url)) return undefined;
  const { egressAllow, egressPorts } = egressRules(config);
  const egress = createEgressGuard({ allow: new AllowList(egressAllow), ports: egressPorts });
  return new GithubIdentities({ url: config.github_url }, { egress, clock, nodes });
}

function createProvers(
  { config, audit, artifacts, jobs, work, nodes, membership, events, clock, log, providers }: Platform,
  { pools, images, tasks, vault, requireTenant, turnOf, compiler, contracts }: ProverParts,
): ProverRegistry {
  const budgetBytes = config.key_memory_mb * MIB;
  const resident = new ResidentBytes({ budgetBytes }, { load: async (sha256) => await artifacts.readShared(sha256) });
  const openKeys = {
    budgetBytes,
    workspaces: config.prove_threads + SPARE_WORKSPACES,
    largeWorkspaces: config.prove_threads,
    tableBytesMax: config.key_tables_mb * MIB,
  };
  const memory = new MemoryBudget({ bytes: config.memory_mb * MIB });
  const allowances = allowancesOf(config);
  const compute = new PooledCompute(
    {
      constraintsMax: config.constraints_max,
      ...allowances,
      residentBytesMax: budgetBytes,
      preparedFolder: join(PACKAGE_ROOT, "dist", "circuits"),
      ...(compiler === undefined ? {} : { compiler }),
      ...(config.kernels === "wasm" ? { openKeys } : {}),
    },
    { pools, tasks, memory, images, log },
  );
  const seconds = config.analysis_seconds;
  const analyzer = seconds === 0 ? undefined : new ProcessAnalyzer({ ...allowances, seconds }, { tasks, memory });
  return createProverRegistry(
    {
      providerAliases: config.provider_aliases,
      source: { bytesMax: config.source_max_mb * MIB, filesMax: config.source_max_files },
      uploadBytesMax: config.upload_max_mb * MIB,
      zkeyBytesPerOwnerMax: config.zkey_max_mb * MIB,
      powersUploadBytesMax: config.ptau_upload_max_mb * MIB,
      ...(config.ptau_dir === undefined ? {} : { powersFolder: config.ptau_dir }),
      tellsPowersFolder: work.makesKeysForOthers,
      proveThreads: config.prove_threads,
      makesDevelopmentStrings: config.mode === "development",
      receiptIssuer: { issuer: config.issuer, version: serverVersion() },
    },
    {
      ...{ store: audit.vaultStore, nodes, artifacts, jobs, compute },
      ...{ resident, images, vault: vault.service, events, clock, log },
      ...(membership === undefined ? {} : { cluster: { nodes, confirm: membership.confirm } }),
      ...(analyzer === undefined ? {} : { analyzer }),
      ...(providers === undefined ? {} : { providers }),
      ceremonyCompute: new ProcessCeremonies({ tasks, memory, log }),
      github: githubIdentities(config, { clock, nodes }),
      checkPowers: async (path, options) => await checkPowersInProcess(tasks, path, options),
      ...crossCheckParts(audit, tasks),
      ...{ requireTenant, turnOf },
      chain: contracts,
      recordUse: async (event) => await audit.log.append(event),
    },
  );
}
