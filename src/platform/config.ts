/**
 * Reads the settings from flags, the environment and a file, in this order of precedence, and checks all of them before
 * anything starts. A wrong setting stops the start with a sentence that names it and its source.
 */
import { accessSync, constants, readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describeAddress } from "./net/describe-address.js";
import { AllowList } from "./net/address-rules.js";
import { TrustedProxies } from "./net/client-address.js";
import { SETTINGS, type SettingName, type Settings, type SettingSpec } from "./settings.js";
import { StartError } from "./start-error.js";

/** A setting is wrong; the message is a sentence for the operator. */
export class ConfigError extends StartError {
  override readonly name = "ConfigError";
}

export interface ConfigSources {
  /** Values of the flags, by name without dashes. */
  readonly flags: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a JSON file with the settings by name; from --config, else PROOFWRIGHT_CONFIG. */
  readonly file?: string | undefined;
}

export interface Config extends Omit<Settings, "mode" | "prove_threads" | "memory_mb" | "issuer"> {
  readonly mode: "development" | "production";
  readonly prove_threads: number;
  readonly memory_mb: number;
  readonly issuer: string;
}

interface Given {
  readonly value: unknown;
  /** The source, as messages name it. */
  readonly source: string;
}

const NAMES = Object.keys(SETTINGS) as SettingName[];
export const UNREACHABLE_ISSUER = "https://proofwright.local";
const CONFIG_FILE_VARIABLE = "PROOFWRIGHT_CONFIG";
const MIB = 1024 ** 2;
/** The rest is for the server itself, compilations and the file cache. */
const MEMORY_SHARE = 0.75;
/** A setup of the smallest circuit takes as much. */
const MEMORY_MB_MIN = 1024;
/** How the variables of the seal begin. */
const SEAL_PREFIX = "SEAL_UNSEAL_";

/**
 * Converts texts from flags and the environment to numbers and booleans. The schemas are our own: to hold them against
 * the meta-schema, which is compiled for it, takes longer than to compile them.
 */
const ajv = new Ajv2020({ coerceTypes: true, strict: false, meta: false, validateSchema: false });
const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|\[::1\]|localhost)$/;

/**
 * Reads and checks all settings.
 * @throws ConfigError for an unknown or wrong setting, and for settings that contradict each other
 */
export function loadConfig(sources: ConfigSources): Config {
  refuseUnknownVariables(sources.env);
  const file = readFile(sources.file ?? sources.env[CONFIG_FILE_VARIABLE]);
  refuseUnknownFlags(sources.flags);
  const given = new Map<SettingName, Given>();
  for (const name of NAMES) {
    const found = findGiven(name, sources, file);
    if (found !== undefined) given.set(name, found);
  }
  const values = Object.fromEntries(
    NAMES.map((name) => [name, checkedValue(name, given.get(name))]),
  ) as unknown as Settings;
  const mode = values.mode ?? defaultMode(given, sources.env);
  const config: Config = {
    ...values,
    mode,
    issuer: values.issuer ?? defaultIssuer(mode, values),
    prove_threads: values.prove_threads ?? Math.max(1, cpus().length),
    memory_mb: values.memory_mb ?? Math.max(MEMORY_MB_MIN, Math.floor((MEMORY_SHARE * machineBytes()) / MIB)),
  };
  checkTogether(config);
  checkSeal(config, { isProduction: sources.env.NODE_ENV === "production" || values.mode === "production" });
  return config;
}

/** The machine's memory, or what a container leaves of it. */
function machineBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/**
 * Returns the default issuer: in development the server's own address, so that discovery works without a setting, and
 * otherwise a name that cannot be reached.
 */
function defaultIssuer(mode: Config["mode"], { host, port, tls_cert }: Settings): string {
  return mode === "development" && port !== 0
    ? describeAddress({ host, port, isTls: tls_cert !== undefined })
    : UNREACHABLE_ISSUER;
}

/** True for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Splits `host:port`, and removes the brackets of an IPv6 host. */
export function parseAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) };
}

/** Returns the settings as text for --help. */
export function describeSettings(): string {
  const rows = NAMES.map((name) => {
    const { flag, env, description } = SETTINGS[name];
    const fallback = SETTINGS[name].default;
    const suffix = fallback === undefined || fallback === "" ? "" : ` (default ${String(fallback)})`;
    return `  --${flag}=…\n      ${env}: ${description}${suffix}`;
  });
  return [
    ...rows,
    `  --config=FILE\n      ${CONFIG_FILE_VARIABLE}: a JSON file with settings by name, such as {"port": 9000, "data_dir": "/var/lib/proofwright"}`,
  ].join("\n");
}

function findGiven(
  name: SettingName,
  sources: ConfigSources,
  file: Readonly<Record<string, unknown>>,
): Given | undefined {
  const { flag, env } = SETTINGS[name];
  const flagText = sources.flags[flag];
  if (flagText !== undefined) return { value: flagText, source: `--${flag}` };
  const envText = sources.env[env];
  if (envText === "" && env.startsWith(SEAL_PREFIX)) throw emptySealSetting(env);
  if (envText !== undefined && envText !== "") return { value: envText, source: env };
  if (Object.hasOwn(file, name)) return { value: file[name], source: `"${name}" in the config file` };
  return undefined;
}

/**
 * Without its settings of the seal a server would start in development mode and unseal itself, so an empty one is
 * refused: it is what a compose file makes of a variable that nobody set.
 */
function emptySealSetting(env: string): ConfigError {
  return new ConfigError(`${env} is set and empty. Give it a value, or remove it to start without it.`);
}

function checkedValue(name: SettingName, given: Given | undefined): unknown {
  const spec: SettingSpec = SETTINGS[name];
  if (given === undefined) return spec.default;
  const holder: { value: unknown } = { value: given.value };
  const schema = { type: "object", properties: { value: spec.schema }, required: ["value"] };
  const validate = ajv.compile(schema);
  if (validate(holder)) return holder.value;
  const shown = spec.secret === true ? "the value given" : JSON.stringify(given.value);
  const allowed =
    validate.errors
      ?.filter((error) => error.keyword === "const")
      .map((error) => String((error.params as { allowedValue: unknown }).allowedValue)) ?? [];
  const reason =
    allowed.length > 0 ? `must be ${allowed.join(" or ")}` : (validate.errors?.[0]?.message ?? "is not valid");
  throw new ConfigError(`${given.source}: ${shown} ${reason} (${spec.description}).`);
}

function refuseUnknownVariables(env: ConfigSources["env"]): void {
  const known = new Set<string>([...NAMES.map((name) => SETTINGS[name].env), CONFIG_FILE_VARIABLE]);
  for (const [variable, value] of Object.entries(env)) {
    if (!/^(PROOFWRIGHT_|SEAL_UNSEAL_)/.test(variable) || value === undefined || known.has(variable)) continue;
    throw new ConfigError(`${variable} is not a setting of Proofwright; see \`proofwright server --help\`.`);
  }
}

function refuseUnknownFlags(flags: ConfigSources["flags"]): void {
  const known = new Set<string>(NAMES.map((name) => SETTINGS[name].flag));
  for (const flag of Object.keys(flags)) {
    if (!known.has(flag))
      throw new ConfigError(`--${flag} is not a setting of Proofwright; see \`proofwright server --help\`.`);
  }
}

function readFile(path: string | undefined): Readonly<Record<string, unknown>> {
  if (path === undefined || path === "") return {};
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(
      `The config file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"}).`,
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ConfigError(`The config file ${path} is not JSON.`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new ConfigError(`The config file ${path} must hold one JSON object.`);
  const unknownName = Object.keys(parsed).find((name) => !Object.hasOwn(SETTINGS, name));
  if (unknownName !== undefined)
    throw new ConfigError(`The config file ${path} has "${unknownName}", which is not a setting of Proofwright.`);
  return parsed as Readonly<Record<string, unknown>>;
}

function defaultMode(given: ReadonlyMap<SettingName, Given>, env: ConfigSources["env"]): Config["mode"] {
  const sealConfigured = [...given.keys()].some((name) => name.startsWith("seal_unseal_"));
  return sealConfigured || env.NODE_ENV === "production" ? "production" : "development";
}

function requireReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new ConfigError(
      `The TLS file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"}).`,
    );
  }
}

/** Returns the entries of a comma separated setting, trimmed and without empty ones. */
export function listOf(text: string): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function checkTogether(config: Config): void {
  if ((config.tls_cert === undefined) !== (config.tls_key === undefined)) {
    throw new ConfigError("TLS needs both PROOFWRIGHT_TLS_CERT and PROOFWRIGHT_TLS_KEY.");
  }
  for (const path of [config.tls_cert, config.tls_key]) if (path !== undefined) requireReadable(path);
  const hosts = [
    config.host,
    config.metrics_host,
    ...[config.prover_listen, config.vault_listen, config.identity_listen, config.chain_listen].flatMap((address) =>
      address === undefined ? [] : [parseAddress(address).host],
    ),
  ];
  const open = hosts.find((host) => !isLoopback(host));
  if (config.mode === "development" && open !== undefined) {
    throw new ConfigError(
      `Development mode listens on loopback only, not on ${open}: configure a seal key (SEAL_UNSEAL_VALIDATION_HASH) or set PROOFWRIGHT_MODE=production.`,
    );
  }
  if (config.mode === "production" && config.confirm_email === "require" && config.mail_url === undefined)
    throw new ConfigError(
      "PROOFWRIGHT_CONFIRM_EMAIL=require needs PROOFWRIGHT_MAIL_URL: without mail nobody could confirm an address.",
    );
  if (config.access_log && config.log_level !== "info" && config.log_level !== "debug")
    throw new ConfigError("PROOFWRIGHT_ACCESS_LOG needs the log level info or debug: its lines are of level info.");
  checkProxies(config);
  checkEgress(config);
  if (
    config.mode === "production" &&
    config.seal_unseal_key !== undefined &&
    config.seal_unseal_validation_hash === undefined
  ) {
    throw new ConfigError(
      "SEAL_UNSEAL_KEY needs SEAL_UNSEAL_VALIDATION_HASH beside it, so that a wrong key is detected.",
    );
  }
}

function checkProxies(config: Config): void {
  try {
    new TrustedProxies(listOf(config.trusted_proxies));
  } catch (error) {
    throw new ConfigError(
      `PROOFWRIGHT_TRUSTED_PROXIES: ${JSON.stringify(error instanceof RangeError ? error.message : "")} is neither an address nor a network such as 10.0.0.0/8.`,
      { cause: error },
    );
  }
}

function checkEgress(config: Config): void {
  try {
    new AllowList(listOf(config.egress_allow));
  } catch (error) {
    throw new ConfigError(
      `PROOFWRIGHT_EGRESS_ALLOW: ${JSON.stringify(error instanceof RangeError ? error.message : "")} is neither a host, an address nor a network such as 10.0.0.0/8, with or without a port.`,
      { cause: error },
    );
  }
  const port = listOf(config.egress_ports).find((text) => Number(text) < 1 || Number(text) > 65_535);
  if (port !== undefined) throw new ConfigError(`PROOFWRIGHT_EGRESS_PORTS: ${port} is not a port.`);
}

/** @param options.isProduction true when production was asked for, and not only follows from a seal setting */
function checkSeal(config: Config, { isProduction }: { readonly isProduction: boolean }): void {
  if (config.seal_unseal_key !== undefined && isProduction) {
    throw new ConfigError(
      "SEAL_UNSEAL_KEY is not allowed with NODE_ENV=production or PROOFWRIGHT_MODE=production, because the environment of a process can be read. Unseal with POST /api/v1/unseal, or configure a seal provider that holds the key.",
    );
  }
  const endpoint = config.seal_unseal_endpoint;
  if (endpoint !== undefined && endpoint.startsWith("http:") && !isLoopback(new URL(endpoint).hostname)) {
    throw new ConfigError(
      "SEAL_UNSEAL_ENDPOINT must be https: otherwise the seal key and the server's credentials would be sent unencrypted.",
    );
  }
}
