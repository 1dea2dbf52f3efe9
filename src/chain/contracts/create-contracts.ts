/** Composes contracts: records, ABIs, deployments, builds, calls and tokens. */
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Log } from "../../platform/log.js";
import type { ProcessTasks } from "../../platform/pool/process-task.js";
import type { References } from "../../platform/references.js";
import type { Store } from "../../platform/store/store.js";
import type { Networks } from "../networks/network-port.js";
import type { Submissions } from "../transactions/submission-port.js";
import type { TransactionService } from "../transactions/transaction-service.js";
import { ContractAccesses } from "./access-times.js";
import { ContractBuilds, type BuildOptions } from "./builds/builds.js";
import { ContractAbis } from "./abi/contract-abis.js";
import { contractHandlers } from "./contract-handlers.js";
import type { contractRoutes } from "./contract-routes.js";
import { Deployments } from "./deployments.js";
import { ContractDescriptions } from "./builds/descriptions.js";
import { ContractExecutions } from "./executions.js";
import { ContractRepository } from "./contract-repository.js";
import { ContractPort } from "./contract-port.js";
import { ContractCreation } from "./contract-creation.js";
import { ContractService } from "./contract-service.js";
import { TokenContracts } from "./token-contracts.js";

interface ContractsDependencies {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly tasks: ProcessTasks;
  readonly clock: Clock;
  readonly log: Log;
  readonly networks: Networks;
  readonly submissions: Submissions & Pick<TransactionService, "get">;
  readonly requireTenant: RequireTenant;
  /** See ChainDependencies.turnOf. */
  readonly turnOf: (subject: Subject) => string;
  /** Gets the look-up of contracts. */
  readonly references: References;
}

type PortParts = ConstructorParameters<typeof ContractPort>[0];

export interface Contracts {
  readonly service: ContractService;
  readonly tokens: TokenContracts;
  readonly repository: ContractRepository;
  /** For other areas. */
  readonly port: (signers: Pick<PortParts, "confirmationsOf" | "requireOwnSigner">) => ContractPort;
  /** For decoding logs. */
  readonly abis: ContractAbis;
  readonly handlers: HandlersFor<typeof contractRoutes>;
  stop(): Promise<void>;
}

/**
 * Creates the services. It registers the runner of builds with the jobs and the listener of settlements with the
 * submissions, so that it must be called before either starts.
 */
export function createContracts(options: BuildOptions, dependencies: ContractsDependencies): Contracts {
  const repository = new ContractRepository(dependencies);
  dependencies.references.provide("contract", (owner, id) => repository.require(owner, id));
  const abis = new ContractAbis({ repository });
  dependencies.submissions.provideAbis(abis);
  const accesses = new ContractAccesses({ ...dependencies, repository });
  const deployments = new Deployments({ ...dependencies, repository, abis });
  const builds = new ContractBuilds(options, { ...dependencies, repository, deployments });
  const descriptions = new ContractDescriptions({ ...dependencies, repository, deployments });
  const service = new ContractService({ ...dependencies, repository, abis, accesses, descriptions });
  const creation = new ContractCreation({ ...dependencies, repository, deployments, builds });
  const executions = new ContractExecutions({ ...dependencies, repository, abis, accesses, deployments });
  const tokens = new TokenContracts({ ...dependencies, repository, accesses, deployments, creation });
  return {
    service,
    tokens,
    repository,
    port: (signers) => new ContractPort({ ...options, ...dependencies, ...signers, repository, creation, deployments }),
    abis,
    handlers: contractHandlers({ contracts: service, creation, executions, tokens }),
    stop: async () => {
      await descriptions.stop();
      await accesses.stop();
    },
  };
}
