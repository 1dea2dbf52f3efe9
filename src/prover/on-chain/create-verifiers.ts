/** Composes verifiers on chain: what deploys them, and what asks them. */
import type { Subject } from "../../platform/auth/principal.js";
import { ContractChecks } from "./contract-checks.js";
import { KnownAnswers } from "./known-answers.js";
import { OnChainVerification } from "./on-chain-verification.js";
import { VerifierAlarm } from "./verifier-alarm.js";
import { VerifierDeployments } from "./verifier-deployments.js";
import { Verifiers } from "./verifiers.js";

type DependenciesOf<Part extends new (...given: never[]) => unknown> = ConstructorParameters<Part>[1];

type CreateVerifiersDependencies = DependenciesOf<typeof KnownAnswers> &
  Omit<DependenciesOf<typeof VerifierDeployments>, "checks" | "knownAnswers" | "alarm"> &
  Omit<ConstructorParameters<typeof Verifiers>[0], "knownAnswers"> &
  Omit<ConstructorParameters<typeof OnChainVerification>[0], "checks" | "alarm"> &
  ConstructorParameters<typeof VerifierAlarm>[0] & {
    readonly turnOf: (subject: Subject) => string;
    readonly proveDeadlineMs: number;
    readonly verifyDeadlineMs: number;
  };

/** Ten minutes for nodes that do not answer; an hour for a transaction whose fee is too low for the moment. */
const PATIENCE = { nodePatienceMs: 600_000, followMs: 3_600_000 };

/** Creates the services and registers the runner of their jobs; call it before `jobs.start`. */
export function createVerifiers(
  patience: ConstructorParameters<typeof VerifierDeployments>[0] | undefined,
  dependencies: CreateVerifiersDependencies,
): {
  readonly verifiers: Verifiers;
  readonly onChain: OnChainVerification;
} {
  const checks = new ContractChecks(dependencies);
  const alarm = new VerifierAlarm(dependencies);
  const knownAnswers = new KnownAnswers(dependencies, dependencies);
  const deployments = new VerifierDeployments(patience ?? PATIENCE, { ...dependencies, checks, knownAnswers, alarm });
  dependencies.queue.register(deployments, dependencies.turnOf);
  const verifiers = new Verifiers({ ...dependencies, knownAnswers });
  const onChain = new OnChainVerification({ ...dependencies, checks, alarm });
  return { verifiers, onChain };
}
