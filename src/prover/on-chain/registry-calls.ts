/** The contract of a registry (verifier-registry.sol): its source, and how it is called. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../platform/files/package-root.js";
import type { ContractChecks, ContractPlace } from "./contract-checks.js";
import { selector } from "./verifier-calldata.js";

interface RegistryEntry {
  /** UUID. */
  readonly proverId: string;
  /** 0x address of the verifier. */
  readonly address: string;
  /** SHA-256 of the verifying key, hex. */
  readonly keyHash: string;
}

export const REGISTRY_NAME = "VerifierRegistry";
const WORD_CHARACTERS = 64;

/** Returns the source of the contract. */
export function registrySource(): string {
  return readFileSync(join(PACKAGE_ROOT, "src/prover/on-chain/verifier-registry.sol"), "utf8");
}

/** Returns the call data that enter a verifier, 0x-hex. */
export function registrationCall({ proverId, address, keyHash }: RegistryEntry): string {
  return `0x${selector("register(bytes16,address,bytes32)")}${proverWord(proverId)}${addressWord(address)}${keyHash}`;
}

/** Tells whether a registry names the verifier for the prover. Throws as `ContractChecks.read`. */
export async function registeredIn(
  checks: Pick<ContractChecks, "read">,
  registry: ContractPlace,
  { entry, signal }: { readonly entry: RegistryEntry; readonly signal: AbortSignal },
): Promise<boolean> {
  const call = `0x${selector("verifierOf(bytes16)")}${proverWord(entry.proverId)}`;
  return (await checks.read(registry, call, signal)) === `${addressWord(entry.address)}${entry.keyHash}`;
}

/** `bytes16` stands at the begin of its word, an address at its end. */
function proverWord(proverId: string): string {
  return proverId.replaceAll("-", "").toLowerCase().padEnd(WORD_CHARACTERS, "0");
}

function addressWord(address: string): string {
  return address.slice(2).toLowerCase().padStart(WORD_CHARACTERS, "0");
}
