/**
 * What a connector's owner gave in secret: the credentials of its peer, and the environment of its container. Both are
 * one secret of the owner in the vault; the configuration keeps the names of the environment alone.
 */
import { isDeepStrictEqual } from "node:util";
import type { Subject } from "../../platform/auth/principal.js";
import { invalidMember } from "../../platform/errors.js";
import { SealedCredentials, type SecretPlace } from "../sealed-credentials.js";
import { SEALED_VALUE, type ConnectorConfig, type Credentials, type Env } from "./connector-schemas.js";

/** In plaintext. */
export interface ConnectorSecrets {
  readonly credentials: Credentials;
  readonly env: Env;
}

export class ConnectorCredentials extends SealedCredentials<ConnectorSecrets | Credentials> {
  constructor(dependencies: ConstructorParameters<typeof SealedCredentials>[1]) {
    super({ what: "connector", gone: "connector_config_invalid" }, dependencies);
  }

  /** Returns the secrets of a connector. Throws as `read` does. */
  async open({
    owner,
    secret,
    config,
  }: {
    readonly owner: Subject;
    readonly secret: SecretPlace | null;
    readonly config: ConnectorConfig;
  }): Promise<ConnectorSecrets> {
    const stored = secret === null ? {} : await this.read(owner, secret);
    const sealed = isBoth(stored) ? stored : { credentials: stored, env: {} };
    // Records of earlier versions have values in the configuration.
    const env = Object.entries(config.env ?? {}).map(([name, value]) => [
      name,
      value === SEALED_VALUE ? (sealed.env[name] ?? "") : value,
    ]);
    return { credentials: sealed.credentials, env: Object.fromEntries(env) as Env };
  }
}

/** Returns what the vault keeps: the credentials alone where there is no environment. */
export function sealedForm({ credentials, env }: ConnectorSecrets): ConnectorSecrets | Credentials {
  return Object.keys(env).length === 0 ? credentials : { credentials, env };
}

/** Returns a configuration without the values of its environment. */
export function withoutEnvValues(config: ConnectorConfig): ConnectorConfig {
  if (config.env === undefined) return config;
  const names = Object.keys(config.env);
  return { ...config, env: Object.fromEntries(names.map((name) => [name, SEALED_VALUE])) };
}

/** Returns a configuration with the values of its environment. */
export function withEnvValues(config: ConnectorConfig, env: Env): ConnectorConfig {
  return config.env === undefined ? config : { ...config, env };
}

/** True for changes whose environment is more than the names that the configuration has. */
export function changesEnv(config: ConnectorConfig, env: Env | null | undefined): boolean {
  if (env === undefined) return false;
  const names = (of: Env | null | undefined): string[] => Object.keys(of ?? {}).sort();
  return (
    !isDeepStrictEqual(names(env), names(config.env)) ||
    Object.values(env ?? {}).some((value) => value !== SEALED_VALUE)
  );
}

/**
 * Returns an environment in which the values that a client sent back as `<sealed>` are the present ones.
 * @throws connector_config_invalid for such a value of a name that is new
 */
export function changedEnv(present: Env, env: Env): Env {
  const values = Object.entries(env).map(([name, value]): [string, string] => {
    if (value !== SEALED_VALUE) return [name, value];
    const kept = Object.hasOwn(present, name) ? present[name] : undefined;
    if (kept !== undefined) return [name, kept];
    const message = `config.env.${name}: ${SEALED_VALUE} stands for a value in the vault, and there is none of this name`;
    throw invalidMember(`config.env.${name}`, message, "connector_config_invalid");
  });
  const changed = Object.fromEntries(values);
  return isDeepStrictEqual(changed, present) ? present : changed;
}

function isBoth(stored: ConnectorSecrets | Credentials): stored is ConnectorSecrets {
  return typeof stored["env"] === "object";
}
