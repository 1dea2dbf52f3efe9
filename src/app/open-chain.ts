/** The part of the composition root that makes the chain area from the settings. */
import { createChain, type Chain, type ChainDependencies } from "../chain/create-chain.js";
import { readNetworkUrls } from "../chain/networks/public-networks.js";
import { ConfigError, listOf, type Config } from "../platform/config.js";

/** Reachable in development, where nodes and peers usually run on the same machine. */
const LOOPBACK = ["127.0.0.0/8", "[::1]", "localhost"];

/** Makes the chain area. Throws ConfigError for a URL of a network that is not public. */
export function openChain(config: Config, dependencies: ChainDependencies): Chain {
  return createChain(
    {
      ...egressRules(config),
      publicUrls: publicUrls(config),
      dockerHost: config.docker_host,
      dockerImages: config.docker_images,
      logConfirmations: config.event_confirmations,
    },
    dependencies,
  );
}

/** Where addresses that users name may lead. */
export function egressRules(config: Config): {
  readonly egressAllow: readonly string[];
  readonly egressPorts: number[];
} {
  return {
    egressAllow: [...(config.mode === "development" ? LOOPBACK : []), ...listOf(config.egress_allow)],
    egressPorts: listOf(config.egress_ports).map(Number),
  };
}

function publicUrls(config: Config): Map<string, string[]> {
  try {
    return readNetworkUrls(listOf(config.network_urls));
  } catch (error) {
    throw new ConfigError(
      `PROOFWRIGHT_NETWORK_URLS: ${JSON.stringify(error instanceof RangeError ? error.message : "")} is no public network whose node can be named.`,
      { cause: error },
    );
  }
}
