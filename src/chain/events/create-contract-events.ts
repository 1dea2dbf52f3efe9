/** Contract events in one piece: the followers of networks, and the tokens that listen to one contract. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import type { ContractRepository } from "../contracts/contract-repository.js";
import { LogFollowers, type LogFollowersDependencies, type LogFollowersOptions } from "./log-followers.js";
import { subscriptionHandlers } from "./subscription-handlers.js";
import type { subscriptionRoutes } from "./subscription-routes.js";

export interface ContractEvents {
  readonly followers: LogFollowers;
  readonly handlers: HandlersFor<typeof subscriptionRoutes>;
  start(): void;
  stop(): Promise<void>;
}

export interface ContractEventsDependencies extends LogFollowersDependencies {
  readonly repository: ContractRepository;
  readonly tokens: SubscriptionTokens;
}

export function createContractEvents(
  options: LogFollowersOptions,
  dependencies: ContractEventsDependencies,
): ContractEvents {
  const followers = new LogFollowers(options, dependencies);
  return {
    followers,
    handlers: subscriptionHandlers({ contracts: dependencies.repository, tokens: dependencies.tokens }),
    start: () => {
      followers.start();
    },
    stop: async () => {
      await followers.stop();
    },
  };
}
