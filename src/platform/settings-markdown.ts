/** SETTINGS.md: the reference of all settings, generated from their table. */
import { SETTINGS, type SettingName, type SettingSpec } from "./settings.js";

const HEADER = `# Settings

Generated from \`src/platform/settings.ts\` by \`npm run docs:settings\`; do not edit.

Each setting may be given as a flag (\`--port=9000\`), as an environment variable (\`PROOFWRIGHT_PORT=9000\`), or as a member of a JSON file
that \`--config=FILE\` or \`PROOFWRIGHT_CONFIG\` names (\`{"port": 9000}\`). A flag overrides the environment, and the environment overrides the
file.`;

/** The groups of SETTINGS.md. Every setting stands in exactly one. */
export const SETTING_GROUPS: readonly { readonly title: string; readonly names: readonly SettingName[] }[] = [
  {
    title: "Server",
    names: [
      "mode",
      "host",
      "port",
      "data_dir",
      "store_max_mb",
      "http",
      "keep_alive_seconds",
      "connections",
      "log_level",
      "access_log",
      "shutdown_delay",
      "shutdown_grace",
      "metrics_port",
      "metrics_host",
      "traces_url",
      "traces_share",
      "rate_limits",
    ],
  },
  {
    title: "Addresses and TLS",
    names: [
      "prover_listen",
      "vault_listen",
      "identity_listen",
      "chain_listen",
      "tls_cert",
      "tls_key",
      "trusted_proxies",
    ],
  },
  {
    title: "Cluster",
    names: ["database_url", "database_replicated", "cluster_key_file", "node_name", "labels", "reads", "artifacts_url"],
  },
  {
    title: "Identity and mail",
    names: [
      "issuer",
      "signing_algorithm",
      "trusted_issuers",
      "mail_url",
      "mail_from",
      "confirm_email",
      "privacy_policy_url",
      "terms_of_service_url",
    ],
  },
  {
    title: "Proving",
    names: [
      "prove_threads",
      "prove_helpers",
      "prove_queue",
      "key_memory_mb",
      "key_image_mb",
      "key_tables_mb",
      "memory_mb",
      "kernels",
      "wide",
      "witness_routines",
      "constraints_max",
      "ptau_dir",
      "ptau_upload_max_mb",
      "provider_aliases",
    ],
  },
  {
    title: "Compilers",
    names: [
      "sandbox",
      "source_max_mb",
      "source_max_files",
      "upload_max_mb",
      "zkey_max_mb",
      "compile_memory_mb",
      "compile_seconds",
      "compile_owners",
      "circom",
      "analysis_seconds",
    ],
  },
  {
    title: "Events",
    names: [
      "event_streams",
      "event_streams_per_subject",
      "event_streams_per_token",
      "events_max",
      "events_days",
      "event_confirmations",
    ],
  },
  {
    title: "Chain and connectors",
    names: ["egress_allow", "egress_ports", "network_urls", "docker_host", "docker_images", "github_url"],
  },
  {
    title: "Seal key",
    names: [
      "seal_unseal_provider",
      "seal_unseal_key",
      "seal_unseal_validation_hash",
      "seal_unseal_key_secret_path",
      "seal_unseal_vault_subscription_id",
      "seal_unseal_vault_tenant_id",
      "seal_unseal_vault_region",
      "seal_unseal_vault_name",
      "seal_unseal_secret_name",
      "seal_unseal_kms_key_id",
      "seal_unseal_kms_region",
      "seal_unseal_endpoint",
      "seal_unseal_timeout_seconds",
    ],
  },
];

/** Returns the text of SETTINGS.md: one table for each group of settings. */
export function settingsMarkdown(): string {
  const sections = SETTING_GROUPS.map(({ title, names }) =>
    [
      `## ${title}`,
      "",
      "| Environment | Flag | In the file | Default | Unit | Purpose |",
      "| --- | --- | --- | --- | --- | --- |",
      ...names.map(row),
    ].join("\n"),
  );
  return `${[HEADER, ...sections].join("\n\n")}\n`;
}

function row(name: SettingName): string {
  const { env, flag, unit = "", description }: SettingSpec = SETTINGS[name];
  const value = SETTINGS[name].default;
  const fallback = value === undefined || value === "" ? "" : code(String(value));
  return `| ${[code(env), code(`--${flag}`), code(name), fallback, unit, description].join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
