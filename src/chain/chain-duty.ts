/**
 * What one of several nodes does for all in this area: it gives nonces, sends and follows transactions, follows logs,
 * probes connectors and publishes the states of networks. Everything else any node does.
 */
export const CHAIN_DUTY = "chain";
