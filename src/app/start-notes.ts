/** What the server says at start: its mode, the state of the seal, and what is missing for real use. */
import { resolve } from "node:path";
import { UNREACHABLE_ISSUER, type Config } from "../platform/config.js";
import type { Vault } from "../vault/create-vault.js";
import type { SealState } from "../vault/seal/seal.js";
import { makesOwnSealKey, type Areas } from "./open-areas.js";
import type { Platform } from "./open-platform.js";

/** Returns what the operator should know at start, one sentence a line. */
export function startNotes({
  config,
  vault,
  sandbox,
  identityParts: { bootstrapTokenPath },
}: Platform & Areas): string[] {
  const first =
    bootstrapTokenPath === undefined
      ? []
      : [
          `There are no users yet. The first administrator is made with the one-use token in ${bootstrapTokenPath}, within an hour; see the README.`,
        ];
  const issuer =
    config.issuer === UNREACHABLE_ISSUER && config.mode === "production"
      ? [
          "PROOFWRIGHT_ISSUER is not set: OAuth clients and the links in mails cannot reach this server by the name in its tokens.",
        ]
      : [];
  const refusal =
    sandbox.refusal === undefined ? [] : [`PROOFWRIGHT_SANDBOX=require: ${sandbox.refusal}. ${sandbox.consequences}`];
  return [...sealNotes(config, vault), ...refusal, ...issuer, ...first];
}

function sealNotes(config: Config, vault: Vault): string[] {
  const state = vault.service.state();
  if (makesOwnSealKey(config)) {
    return [
      "Development mode: no seal key was configured, so the server made its own data folder, signing keys and seal key",
      `in ${resolve(config.data_dir)} and ${state === "unsealed" ? "unsealed itself" : `tried to unseal itself (it is ${state.replace("_", " ")})`}. Anyone who can read that folder can open the vault.`,
      "It listens on this machine only. For real use set SEAL_UNSEAL_VALIDATION_HASH; see the README.",
    ];
  }
  const mode =
    config.mode === "development" ? ["Development mode: the server listens on this machine only; see the README."] : [];
  return [...mode, ...configuredSealNotes(vault, state)];
}

function configuredSealNotes(vault: Vault, state: SealState): string[] {
  if (state === "unconfigured")
    return [
      "No seal key is configured: the vault cannot be unsealed. POST /api/v1/unsealerkey makes a key; set its hash as SEAL_UNSEAL_VALIDATION_HASH.",
    ];
  const failure = vault.sealFailure();
  if (failure !== undefined) return [`The vault is sealed: ${failure}.`];
  return [state === "unsealed" ? "The vault is unsealed." : "The vault is sealed; unseal it with POST /api/v1/unseal."];
}
