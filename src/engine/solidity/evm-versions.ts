/** Versions of the EVM that the Solidity compiler may be told to write for; newer code does not run on older chains. */
export const EVM_VERSIONS = ["london", "paris", "shanghai", "cancun", "prague", "osaka"] as const;
export type EvmVersion = (typeof EVM_VERSIONS)[number];
