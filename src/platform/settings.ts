/**
 * Every setting of the server in one table: environment variable, flag, type, default and purpose. The help text,
 * SETTINGS.md and the checks are derived from it.
 */
import Type, { type Static } from "typebox";
import { CLUSTER_SETTINGS } from "./cluster-settings.js";
import { OPERATION_SETTINGS } from "./operation-settings.js";
import { Port, setting } from "./setting-spec.js";

export type { SettingSpec } from "./setting-spec.js";

const Path = Type.String({ minLength: 1, maxLength: 4096 });
const Hash = Type.String({ pattern: "^(0x)?[0-9a-fA-F]{64}$" });
/** `host:port`, with an IPv6 host in brackets. */
const Address = Type.String({ pattern: "^(\\[[0-9a-fA-F:]+\\]|[^:\\s]+):[0-9]{1,5}$", maxLength: 300 });
const Text = Type.String({ minLength: 1, maxLength: 300 });
const SealProviderName = Type.Union([
  Type.Literal("environment"),
  Type.Literal("container_secret"),
  Type.Literal("docker"),
  Type.Literal("cloud_key_vault"),
  Type.Literal("azure_key_vault"),
  Type.Literal("aws_kms"),
  Type.Literal("gcp_kms"),
]);
const Url = Type.String({ pattern: "^https?://[^\\s]+$", maxLength: 1000 });
const Threads = Type.Integer({ minimum: 1, maximum: 256 });
const COMPILE_OWNER = "(user|organization):[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}=[0-9]{1,6}/[0-9]{1,5}";

export const SETTINGS = {
  ...OPERATION_SETTINGS,
  ...CLUSTER_SETTINGS,
  mode: setting({
    env: "PROOFWRIGHT_MODE",
    flag: "mode",
    schema: Type.Union([Type.Literal("development"), Type.Literal("production")]),
    description:
      "`development` creates its own seal key, unseals itself and listens on loopback only; default: development unless a SEAL_UNSEAL_ setting is given or NODE_ENV=production",
  }),
  host: setting({
    env: "PROOFWRIGHT_HOST",
    flag: "host",
    schema: Type.String({ minLength: 1, maxLength: 255 }),
    default: "127.0.0.1",
    description: "address to listen on",
  }),
  port: setting({
    env: "PROOFWRIGHT_PORT",
    flag: "port",
    schema: Port,
    default: 8080,
    description: "port to listen on; 0 picks a free one",
  }),
  data_dir: setting({
    env: "PROOFWRIGHT_DATA_DIR",
    flag: "data-dir",
    schema: Path,
    default: "data",
    description: "folder for the store, artifacts and keys; created when missing",
  }),
  store_max_mb: setting({
    env: "PROOFWRIGHT_STORE_MAX_MB",
    flag: "store-max-mb",
    schema: Type.Integer({ minimum: 64, maximum: 1_048_576 }),
    default: 65_536,
    unit: "MiB",
    description:
      "largest size of the store's data file; the last 64 MiB are reserved for deletions and the audit log, so that 64 makes the store read-only",
  }),
  prover_listen: setting({
    env: "PROVER_LISTEN",
    flag: "prover-listen",
    schema: Address,
    description: "separate address for the prover registry, as host:port",
  }),
  vault_listen: setting({
    env: "VAULT_LISTEN",
    flag: "vault-listen",
    schema: Address,
    description: "separate address for the vault",
  }),
  identity_listen: setting({
    env: "IDENTITY_LISTEN",
    flag: "identity-listen",
    schema: Address,
    description: "separate address for identity",
  }),
  chain_listen: setting({
    env: "CHAIN_LISTEN",
    flag: "chain-listen",
    schema: Address,
    description: "separate address for the chain area",
  }),
  trusted_proxies: setting({
    env: "PROOFWRIGHT_TRUSTED_PROXIES",
    flag: "trusted-proxies",
    schema: Type.String({
      maxLength: 4000,
      pattern: "^([0-9A-Fa-f.:]+(/[0-9]{1,3})?(, *[0-9A-Fa-f.:]+(/[0-9]{1,3})?)*)?$",
    }),
    default: "",
    description:
      "proxies in front of the server whose X-Forwarded-For names the client, as addresses or networks, comma separated (such as 10.0.0.0/8); without it all clients behind a proxy share one rate limit",
  }),
  tls_cert: setting({
    env: "PROOFWRIGHT_TLS_CERT",
    flag: "tls-cert",
    schema: Path,
    description: "certificate chain (PEM file); switches TLS on together with the key",
  }),
  tls_key: setting({
    env: "PROOFWRIGHT_TLS_KEY",
    flag: "tls-key",
    schema: Path,
    description: "private key of the certificate (PEM file)",
  }),
  issuer: setting({
    env: "PROOFWRIGHT_ISSUER",
    flag: "issuer",
    schema: Type.String({ minLength: 1, maxLength: 300 }),
    description:
      "`iss` of the access tokens, and the address of the server for OAuth clients and in mails; default: in development the address it listens on, else `https://proofwright.local`",
  }),
  signing_algorithm: setting({
    env: "PROOFWRIGHT_SIGNING_ALGORITHM",
    flag: "signing-algorithm",
    schema: Type.Union([Type.Literal("EdDSA"), Type.Literal("ES256"), Type.Literal("RS256")]),
    default: "EdDSA",
    description:
      "algorithm that signs access tokens: EdDSA, ES256 or RS256; a change takes effect with the next key rotation",
  }),
  trusted_issuers: setting({
    env: "PROOFWRIGHT_TRUSTED_ISSUERS",
    flag: "trusted-issuers",
    schema: Path,
    description:
      "JSON file that lists other OpenID Connect issuers whose tokens are accepted, as {issuer, jwks_url, audience, ...}",
  }),
  mail_url: setting({
    env: "PROOFWRIGHT_MAIL_URL",
    flag: "mail-url",
    schema: Type.String({ pattern: "^smtps?://[^\\s]+$", maxLength: 1000 }),
    description:
      "SMTP server for mail, as smtp://user:password@host:587 or smtps://; without it mail is written to DATA_DIR/mail in development and dropped in production",
    secret: true,
  }),
  mail_from: setting({
    env: "PROOFWRIGHT_MAIL_FROM",
    flag: "mail-from",
    schema: Type.String({ minLength: 3, maxLength: 320, pattern: "^[^\\u0000-\\u001f]+$" }),
    default: "proofwright@localhost",
    description: "sender of the mails",
  }),
  confirm_email: setting({
    env: "PROOFWRIGHT_CONFIRM_EMAIL",
    flag: "confirm-email",
    schema: Type.Union([Type.Literal("on_request"), Type.Literal("ask"), Type.Literal("require")]),
    description:
      "when users confirm their e-mail addresses: `on_request` sends a mail only when asked to, `ask` also after a sign-up and a change of address, `require` lets nobody log in with a password before; default: `ask` with PROOFWRIGHT_MAIL_URL, else `on_request`",
  }),
  privacy_policy_url: setting({
    env: "PROOFWRIGHT_PRIVACY_POLICY_URL",
    flag: "privacy-policy-url",
    schema: Url,
    description: "address of the privacy policy; answered at /legal/privacy_policy",
  }),
  terms_of_service_url: setting({
    env: "PROOFWRIGHT_TERMS_OF_SERVICE_URL",
    flag: "terms-of-service-url",
    schema: Url,
    description: "address of the terms of service; answered at /legal/terms_of_service",
  }),
  prove_threads: setting({
    env: "PROOFWRIGHT_PROVE_THREADS",
    flag: "prove-threads",
    schema: Threads,
    description: "threads that make proofs; default: one per core",
  }),
  prove_helpers: setting({
    env: "PROOFWRIGHT_PROVE_HELPERS",
    flag: "prove-helpers",
    schema: Type.Integer({ minimum: 0, maximum: 63 }),
    default: 7,
    description: "idle threads that may join a proof; 0 keeps every proof on one thread",
  }),
  prove_queue: setting({
    env: "PROOFWRIGHT_PROVE_QUEUE",
    flag: "prove-queue",
    schema: Type.Integer({ minimum: 1, maximum: 100_000 }),
    default: 256,
    description: "proofs that may wait for a thread, of all owners; one more is rejected with 503",
  }),
  key_memory_mb: setting({
    env: "PROOFWRIGHT_KEY_MEMORY_MB",
    flag: "key-memory-mb",
    schema: Type.Integer({ minimum: 16, maximum: 1_048_576 }),
    default: 1024,
    unit: "MiB",
    description: "memory for resident proving keys and witness programs; an import whose files need more is refused",
  }),
  key_image_mb: setting({
    env: "PROOFWRIGHT_KEY_IMAGE_MB",
    flag: "key-image-mb",
    schema: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    default: 2048,
    unit: "MiB",
    description:
      "disk for opened proving keys beside the keys themselves, which a start reads in a third of the time in which it would make them; the least recently used ones go first, and 0 keeps none",
  }),
  key_tables_mb: setting({
    env: "PROOFWRIGHT_KEY_TABLES_MB",
    flag: "key-tables-mb",
    schema: Type.Integer({ minimum: 0, maximum: 4096 }),
    default: 64,
    unit: "MiB",
    description:
      "memory of each open Groth16 key, at most, for multiples of its points, which take a tenth off the proofs of circuits of up to some 16,000 constraints and more off the smallest; they are made after the first proof, and 0 makes none",
  }),
  memory_mb: setting({
    env: "PROOFWRIGHT_MEMORY_MB",
    flag: "memory-mb",
    schema: Type.Integer({ minimum: 256, maximum: 1_048_576 }),
    unit: "MiB",
    description:
      "memory that compilations, analyses, setups, checks of keys and open proving keys may take together, told before each begins: what does not fit waits, and what never fits is refused; default: three quarters of the machine's",
  }),
  kernels: setting({
    env: "PROOFWRIGHT_KERNELS",
    flag: "kernels",
    schema: Type.Union([Type.Literal("wasm"), Type.Literal("reference")]),
    default: "wasm",
    description:
      "implementation that proves and verifies: `wasm`, the server's own WebAssembly kernels, or `reference`, the backend on ffjavascript",
  }),
  wide: setting({
    env: "PROOFWRIGHT_WIDE",
    flag: "wide",
    schema: Type.Union([Type.Literal("auto"), Type.Literal("on"), Type.Literal("off")]),
    default: "auto",
    description:
      "whether the kernels prove, verify and make large keys on four lanes, which an experimental part of V8 makes 1.3 to 1.7 times as fast where the CPU has AVX2: `auto` does where this was tried (Node 24 and 26), `on` tries it with any Node, in a process of its own first, `off` never does",
  }),
  witness_routines: setting({
    env: "PROOFWRIGHT_WITNESS_ROUTINES",
    flag: "witness-routines",
    schema: Type.Union([Type.Literal("faster"), Type.Literal("circom")]),
    default: "faster",
    description:
      "field routines of the programs that compute witnesses: `faster` puts this server's in place of circom's where they are known, `circom` runs the programs as circom made them",
  }),
  constraints_max: setting({
    env: "PROOFWRIGHT_CONSTRAINTS_MAX",
    flag: "constraints-max",
    schema: Type.Integer({ minimum: 1, maximum: 2 ** 21 }),
    default: 2 ** 20,
    unit: "constraints",
    description: "largest circuit that may be registered; its memory is bounded by memory_mb",
  }),
  ptau_dir: setting({
    env: "PROOFWRIGHT_PTAU_DIR",
    flag: "ptau-dir",
    schema: Path,
    description:
      "folder of published powers-of-tau files (`.ptau` of snarkjs), from which keys of universal schemes follow; each is checked in full before its first use, and copied",
  }),
  ptau_upload_max_mb: setting({
    env: "PROOFWRIGHT_PTAU_UPLOAD_MAX_MB",
    flag: "ptau-upload-max-mb",
    schema: Type.Integer({ minimum: 1, maximum: 16_384 }),
    default: 2048,
    description:
      "longest powers-of-tau file that an administrator may upload; all uploaded files together may have four times as much",
  }),
  source_max_mb: setting({
    env: "PROOFWRIGHT_SOURCE_MAX_MB",
    flag: "source-max-mb",
    schema: Type.Integer({ minimum: 1, maximum: 16 }),
    default: 8,
    unit: "MiB",
    description: "longest source of one circuit, all its files together",
  }),
  source_max_files: setting({
    env: "PROOFWRIGHT_SOURCE_MAX_FILES",
    flag: "source-max-files",
    schema: Type.Integer({ minimum: 1, maximum: 5000 }),
    default: 2000,
    description: "most files of one circuit's source",
  }),
  upload_max_mb: setting({
    env: "PROOFWRIGHT_UPLOAD_MAX_MB",
    flag: "upload-max-mb",
    schema: Type.Integer({ minimum: 1, maximum: 2047 }),
    default: 2047,
    unit: "MiB",
    description: "longest uploaded file of a circuit or key that was made elsewhere",
  }),
  zkey_max_mb: setting({
    env: "PROOFWRIGHT_ZKEY_MAX_MB",
    flag: "zkey-max-mb",
    schema: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    default: 8192,
    unit: "MiB",
    description:
      "disk for the `.zkey` files of one owner's PLONK keys, which are made when they are asked for: those of the oldest provers give way and are made again; a file that would be longer is not offered",
  }),
  compile_memory_mb: setting({
    env: "PROOFWRIGHT_COMPILE_MEMORY_MB",
    flag: "compile-memory-mb",
    schema: Type.Integer({ minimum: 128, maximum: 65_536 }),
    default: 2048,
    unit: "MiB",
    description:
      "memory that one compilation of a circuit may use, of `memory_mb`; it begins with 768 MiB, and anew with all of it where that was not enough",
  }),
  compile_seconds: setting({
    env: "PROOFWRIGHT_COMPILE_SECONDS",
    flag: "compile-seconds",
    schema: Type.Integer({ minimum: 1, maximum: 3600 }),
    default: 120,
    unit: "seconds",
    description: "processor time that one compilation of a circuit may take; the clock allows five times as much",
  }),
  compile_owners: setting({
    env: "PROOFWRIGHT_COMPILE_OWNERS",
    flag: "compile-owners",
    schema: Type.String({
      maxLength: 8000,
      pattern: `^(${COMPILE_OWNER}(, *${COMPILE_OWNER})*)?$`,
    }),
    default: "",
    description:
      "what one compilation may take for single owners, in place of the two settings above: `user:<id>=<MiB>/<seconds>` or `organization:<id>=<MiB>/<seconds>`, comma separated. An application has what its organization has, or else the user who made it",
  }),
  circom: setting({
    env: "PROOFWRIGHT_CIRCOM",
    flag: "circom",
    schema: Path,
    description:
      "absolute path of a circom compiler of your own, which compiles circuits in place of the one in WebAssembly; asked for its version at the start. Circuits that are analysed are compiled by the latter all the same",
  }),
  analysis_seconds: setting({
    env: "PROOFWRIGHT_ANALYSIS_SECONDS",
    flag: "analysis-seconds",
    schema: Type.Integer({ minimum: 0, maximum: 3600 }),
    default: 60,
    unit: "seconds",
    description:
      "processor time that the analysis of one circuit may take, after a compilation of its own; 0 analyses no circuits",
  }),
  sandbox: setting({
    env: "PROOFWRIGHT_SANDBOX",
    flag: "sandbox",
    schema: Type.Union([Type.Literal("auto"), Type.Literal("require")]),
    default: "auto",
    description:
      "sandbox of the circom and Solidity compilers: `auto` applies the limits that the system offers and warns of the missing ones, `require` compiles nothing unless every limit holds",
  }),
  http: setting({
    env: "PROOFWRIGHT_HTTP",
    flag: "http",
    schema: Type.Union([Type.Literal("auto"), Type.Literal("uws"), Type.Literal("node")]),
    default: "auto",
    description:
      "HTTP library: `uws` is uWebSockets.js, `node` is Node's own, which takes more processor time a request and runs everywhere; `auto` takes uWebSockets.js where it has a binary for the system",
  }),
  keep_alive_seconds: setting({
    env: "PROOFWRIGHT_KEEP_ALIVE_SECONDS",
    flag: "keep-alive-seconds",
    schema: Type.Integer({ minimum: 1, maximum: 3600 }),
    default: 75,
    unit: "seconds",
    description:
      "a connection on which no request comes for this long is closed; only Node's own HTTP library follows it, because uWebSockets.js closes after 10 s, which is compiled in",
  }),
  connections: setting({
    env: "PROOFWRIGHT_CONNECTIONS",
    flag: "connections",
    schema: Type.Integer({ minimum: 16, maximum: 1_000_000 }),
    default: 16_384,
    description: "connections that may be open at once on one address; each takes a file descriptor (`ulimit -n`)",
  }),
  event_streams: setting({
    env: "PROOFWRIGHT_EVENT_STREAMS",
    flag: "event-streams",
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: 12_000,
    description: "event streams (SSE and WebSocket) that may be open at once",
  }),
  event_streams_per_subject: setting({
    env: "PROOFWRIGHT_EVENT_STREAMS_PER_SUBJECT",
    flag: "event-streams-per-subject",
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: 100,
    description: "event streams of one user, application or organization, without those of its subscription tokens",
  }),
  event_streams_per_token: setting({
    env: "PROOFWRIGHT_EVENT_STREAMS_PER_TOKEN",
    flag: "event-streams-per-token",
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: 100,
    description:
      "event streams of one subscription token; with all its tokens together a subject may have a twentieth of `event_streams`, or `event_streams_per_subject` if that is more",
  }),
  events_max: setting({
    env: "PROOFWRIGHT_EVENTS_MAX",
    flag: "events-max",
    schema: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
    default: 100_000,
    description: "events that are kept for replay; older ones are deleted",
  }),
  events_days: setting({
    env: "PROOFWRIGHT_EVENTS_DAYS",
    flag: "events-days",
    schema: Type.Integer({ minimum: 1, maximum: 3650 }),
    default: 7,
    unit: "days",
    description: "days that an event is kept for replay",
  }),
  egress_allow: setting({
    env: "PROOFWRIGHT_EGRESS_ALLOW",
    flag: "egress-allow",
    schema: Type.String({ maxLength: 8000 }),
    default: "",
    description:
      "internal targets that users may name as nodes and peers, as `host`, address or network with an optional port, comma separated (such as `node.lan:8545,10.1.0.0/16`); plain HTTP is allowed to these only. Development mode adds this machine",
  }),
  egress_ports: setting({
    env: "PROOFWRIGHT_EGRESS_PORTS",
    flag: "egress-ports",
    schema: Type.String({ maxLength: 1000, pattern: "^[0-9]{1,5}(, *[0-9]{1,5})*$" }),
    default: "443,4222,5001,5432,6379,8088,8545,8546,9200,27017",
    description: "ports of public hosts that users may name as nodes and peers, comma separated",
  }),
  github_url: setting({
    env: "PROOFWRIGHT_GITHUB_URL",
    flag: "github-url",
    schema: Type.String({ pattern: "^(|none|https?://[^/?#@\\s]+/?)$", maxLength: 300 }),
    default: "https://github.com",
    description:
      "where contributors of ceremonies have the SSH keys by which they say who they are, at /NAME.keys; a host of the own network must also be listed in PROOFWRIGHT_EGRESS_ALLOW; `none`: nobody is asked, and their names stay claims",
  }),
  network_urls: setting({
    env: "PROOFWRIGHT_NETWORK_URLS",
    flag: "network-urls",
    schema: Type.String({ maxLength: 8000, pattern: "^([a-z]+=https?://[^,\\s]+(, *[a-z]+=https?://[^,\\s]+)*)?$" }),
    default: "",
    description:
      "nodes of the public networks, as name=URL, comma separated (such as `sepolia=https://rpc.example.com`); a repeated name adds a further node. A public network without a node is listed but not queried",
    secret: true,
  }),
  docker_host: setting({
    env: "PROOFWRIGHT_DOCKER_HOST",
    flag: "docker-host",
    schema: Type.String({
      pattern: "^(unix:///[^\\s]+|tcp://([^/\\s:]+|\\[[0-9a-fA-F:]+\\])(:[0-9]{1,5})?)$",
      maxLength: 300,
    }),
    description:
      "Docker engine that runs the containers of connectors, as unix:///var/run/docker.sock or tcp://host:2375; without it none are run; the nodes of a cluster have the same engine",
  }),
  docker_images: setting({
    env: "PROOFWRIGHT_DOCKER_IMAGES",
    flag: "docker-images",
    schema: Type.String({ maxLength: 2000, pattern: "^[^\\u0000-\\u001f]*$" }),
    default: "ipfs/kubo:*,nats:*,redis:*,postgres:*,mongo:*",
    description: "images that applications may run, comma separated; a `*` at the end matches anything",
  }),
  event_confirmations: setting({
    env: "PROOFWRIGHT_EVENT_CONFIRMATIONS",
    flag: "event-confirmations",
    schema: Type.Integer({ minimum: 0, maximum: 256 }),
    default: 0,
    unit: "blocks",
    description:
      "blocks that must follow a block before the events of its contracts are sent; with 0, events of a block that is replaced later are sent again with `removed`",
  }),
  rate_limits: setting({
    env: "PROOFWRIGHT_RATE_LIMITS",
    flag: "rate-limits",
    schema: Type.Boolean(),
    default: true,
    description: "limit the requests of each subject, and account creation per address; switch off for load tests only",
  }),
  provider_aliases: setting({
    env: "PROVER_PROVIDER_ALIASES",
    flag: "provider-aliases",
    schema: Type.String({
      maxLength: 1000,
      pattern: "^([A-Za-z0-9_-]+:[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+:[A-Za-z0-9_-]+)*)?$",
    }),
    default: "",
    description:
      "other names for a provider, as alias:provider, comma separated (such as gnark:circom for existing clients)",
  }),
  seal_unseal_provider: setting({
    env: "SEAL_UNSEAL_PROVIDER",
    flag: "seal-unseal-provider",
    schema: SealProviderName,
    description:
      "where the seal key comes from: `environment` (the default: unsealed by POST /api/v1/unseal), `container_secret` (or `docker`), `cloud_key_vault` (or `azure_key_vault`), `aws_kms`, `gcp_kms`",
  }),
  seal_unseal_key: setting({
    env: "SEAL_UNSEAL_KEY",
    flag: "seal-unseal-key",
    schema: Type.String({ minLength: 1, maxLength: 1000 }),
    description:
      "the seal key itself, 24 words: unseals at start; for trials only, rejected with NODE_ENV=production and PROOFWRIGHT_MODE=production",
    secret: true,
  }),
  seal_unseal_validation_hash: setting({
    env: "SEAL_UNSEAL_VALIDATION_HASH",
    flag: "seal-unseal-validation-hash",
    schema: Hash,
    description: "SHA-256 of the seal key's 24 words, hex",
  }),
  seal_unseal_key_secret_path: setting({
    env: "SEAL_UNSEAL_KEY_SECRET_PATH",
    flag: "seal-unseal-key-secret-path",
    schema: Path,
    description:
      "container_secret: the file with the 24 words, owned by root or the server's user, of mode 0400, 0440 or 0600",
  }),
  seal_unseal_vault_subscription_id: setting({
    env: "SEAL_UNSEAL_VAULT_SUBSCRIPTION_ID",
    flag: "seal-unseal-vault-subscription-id",
    schema: Text,
    description: "cloud_key_vault: the subscription; informational, reading a secret does not need it",
  }),
  seal_unseal_vault_tenant_id: setting({
    env: "SEAL_UNSEAL_VAULT_TENANT_ID",
    flag: "seal-unseal-vault-tenant-id",
    schema: Text,
    description: "cloud_key_vault: the tenant that the server's identity belongs to",
  }),
  seal_unseal_vault_region: setting({
    env: "SEAL_UNSEAL_VAULT_REGION",
    flag: "seal-unseal-vault-region",
    schema: Text,
    description: "cloud_key_vault: the region; china… and usgov… choose the domain of those clouds",
  }),
  seal_unseal_vault_name: setting({
    env: "SEAL_UNSEAL_VAULT_NAME",
    flag: "seal-unseal-vault-name",
    schema: Type.String({ pattern: "^[0-9A-Za-z-]{3,24}$" }),
    description: "cloud_key_vault: name of the key vault",
  }),
  seal_unseal_secret_name: setting({
    env: "SEAL_UNSEAL_SECRET_NAME",
    flag: "seal-unseal-secret-name",
    schema: Text,
    default: "_unsealerkey",
    description:
      "cloud_key_vault: name of the secret, created on the first run; characters that Azure does not allow are replaced by dashes or removed",
  }),
  seal_unseal_kms_key_id: setting({
    env: "SEAL_UNSEAL_KMS_KEY_ID",
    flag: "seal-unseal-kms-key-id",
    schema: Type.String({ minLength: 1, maxLength: 2048 }),
    description: "aws_kms: key id, ARN or alias; gcp_kms: projects/P/locations/L/keyRings/R/cryptoKeys/K",
  }),
  seal_unseal_kms_region: setting({
    env: "SEAL_UNSEAL_KMS_REGION",
    flag: "seal-unseal-kms-region",
    schema: Text,
    description: "aws_kms: region of the key",
  }),
  seal_unseal_endpoint: setting({
    env: "SEAL_UNSEAL_ENDPOINT",
    flag: "seal-unseal-endpoint",
    schema: Type.String({ pattern: "^https?://[^/\\s]+/?$", maxLength: 500 }),
    description:
      "another address of the provider's service, such as a private endpoint; https, or http on this machine",
  }),
  seal_unseal_timeout_seconds: setting({
    env: "SEAL_UNSEAL_TIMEOUT_SECONDS",
    flag: "seal-unseal-timeout-seconds",
    schema: Type.Integer({ minimum: 1, maximum: 300 }),
    default: 10,
    unit: "seconds",
    description:
      "time that the provider has to answer; after it the vault stays sealed, and the provider is asked again each minute",
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;

/** Values after defaults: a setting without a default may be undefined. */
export type Settings = {
  readonly [Name in SettingName]: undefined extends (typeof SETTINGS)[Name]["default"]
    ? Static<(typeof SETTINGS)[Name]["schema"]> | undefined
    : Static<(typeof SETTINGS)[Name]["schema"]>;
};
