/** Puts contract events together: the followers of networks, and the tokens that listen to one contract. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { SubscriptionTokens } from "../../platform/events/subscription-token.js";
import type { ContractRepository } from "../contracts/contract-repository.js";
import type { HeadListeners } from "../head-listeners.js";
import { LogFollowers, type LogFollowersDependencies, type LogFollowersOptions } from "./log-followers.js";
import { subscriptionHandlers } from "./subscription-handlers.js";
import type { subscriptionRoutes } from "./subscription-routes.js";

export interface ContractEvents {
  readonly handlers: HandlersFor<typeof subscriptionRoutes>;
  start(): void;
  stop(): Promise<void>;
}

export interface ContractEventsDependencies extends LogFollowersDependencies {
  readonly repository: ContractRepository;
  readonly tokens: SubscriptionTokens;
  /** Tells when a chain was seen to have moved: logs of the owner's transactions need not wait for the next poll. */
  readonly heads: Pick<HeadListeners, "add">;
}

/** Makes the followers and the handlers of subscriptions. Nothing is followed before `start`. */
export function createContractEvents(
  options: LogFollowersOptions,
  dependencies: ContractEventsDependencies,
): ContractEvents {
  const followers = new LogFollowers(options, dependencies);
  dependencies.heads.add((networkId) => {
    followers.wake(networkId);
  });
  return {
    handlers: subscriptionHandlers({ contracts: dependencies.repository, tokens: dependencies.tokens }),
    start: () => {
      followers.start();
    },
    stop: async () => {
      await followers.stop();
    },
  };
}
