/**
 * What existing clients send, call by call: their bodies as they stand, the status that they expect, and the members
 * that they read. Where this server answers otherwise, the row says why. The bodies are those of the integration tests
 * of provide-rust (tests/*.rs); the statuses of provide-go are those that its services compare with.
 */
import { randomUUID } from "node:crypto";

/** Ids that the clients have in their sources. */
export const SEPOLIA = "ffc9a168-1327-4ddc-8af9-2301da82cccb";
const ROPSTEN = "66d44f30-9092-4182-a3c4-bc02736d6ae5";

export type Json = Readonly<Record<string, unknown>>;
export type Bearer = "user" | "application" | "organization" | "nobody";

/** A provisioned prover of the application, and the members of it that clients repeat. */
interface Prover {
  readonly id: string;
  readonly note_store_id: string;
}

export interface World {
  readonly email: string;
  readonly password: string;
  readonly user: string;
  readonly application: string;
  readonly organization: string;
  readonly wallet: string;
  readonly vault: string;
  readonly key: string;
  readonly prover: Prover;
  readonly proof: string;
  readonly tokens: Readonly<Record<Bearer, string | undefined>>;
}

export interface Row {
  /** The client's function. */
  readonly call: string;
  readonly as: Bearer;
  readonly request: (world: World) => readonly [method: string, path: string, body?: Json];
  /** The status that the client asserts. */
  readonly theirs: number;
  /** Ours, where it differs, and why. */
  readonly ours?: { readonly status: number; readonly because: string };
  /** Members of the answer that the client cannot do without. */
  readonly reads?: readonly string[];
}

const CHAINSPEC = {
  alloc: {},
  coinbase: 0,
  config: { byzantiumBlock: 0, constantinopleBlock: 0, eip150Block: 0, homesteadBlock: 0, petersburgBlock: 0 },
  difficulty: 131_072,
  extraData: "",
  gasLimit: 3_141_592,
  mixhash: 0,
  nonce: 66,
  parentHash: 0,
  timestamp: 0,
};
export const NETWORK = {
  name: "Ada Network",
  enabled: true,
  chain_id: "0x1618585621",
  config: {
    chain: "test",
    chainspec: CHAINSPEC,
    engine_id: "ethash",
    native_currency: "TEST",
    network_id: 1_618_585_621,
    platform: "evm",
    layer2: false,
    protocol_id: "pow",
  },
  layer2: false,
};
export const CONNECTOR = {
  name: "Ada Connector",
  type: "provide",
  config: {
    api_port: 8080,
    api_url: "https://ceeb3bca.us-east-2.elb.amazonaws.com:8080",
    container: "providenetwork-ipfs",
    image: "provide/ident",
    provider_id: "docker",
    region: "us-east-2",
    role: "peer",
    target_id: "aws",
  },
};
const ACCOUNT = ["id", "created_at", "network_id", "vault_id", "key_id", "public_key", "address"];
export const PROVER_NAME = "Ada prover";
const SECRET = { type: "sample secret", name: "Ada", description: "for demonstration", value: "0x" };

const invitation = ({ user, application, organization }: World): Json => ({
  application_id: application,
  user_id: user,
  first_name: "Ada",
  last_name: "Lovelace",
  email: `${randomUUID()}@example.com`,
  organization_id: organization,
  organization_name: "Ada organization",
  name: "Grace Hopper",
  invitor_name: "Grace Hopper",
});

export const CHAIN: readonly Row[] = [
  { call: "list_accounts", as: "user", request: () => ["GET", "accounts"], theirs: 200 },
  {
    call: "create_account",
    as: "user",
    request: () => ["POST", "accounts", { network_id: ROPSTEN }],
    theirs: 201,
    reads: ACCOUNT,
  },
  { call: "get_connectors", as: "application", request: () => ["GET", "connectors"], theirs: 200 },
  {
    call: "create_connector",
    as: "application",
    request: ({ application }) => [
      "POST",
      "connectors",
      { ...CONNECTOR, application_id: application, network_id: ROPSTEN },
    ],
    theirs: 201,
    reads: ["id", "created_at", "application_id", "network_id", "name", "type", "status"],
  },
  { call: "list_contracts", as: "application", request: () => ["GET", "contracts"], theirs: 200 },
  {
    call: "create_contract",
    as: "application",
    request: ({ application }) => [
      "POST",
      "contracts",
      { application_id: application, network_id: ROPSTEN, name: "Ada Contract", address: "0x" },
    ],
    theirs: 201,
    reads: ["id", "created_at", "network_id", "name", "address", "pubsub_prefix"],
  },
  { call: "get_wallets", as: "user", request: () => ["GET", "wallets"], theirs: 200 },
  {
    call: "create_wallet",
    as: "user",
    request: ({ user }) => ["POST", "wallets", { user_id: user }],
    theirs: 201,
    // provide-rust also reads `public_key`, an xpub, which shows all addresses of a wallet: the vault answers it on request.
    reads: ["id", "created_at", "vault_id", "key_id", "purpose"],
  },
  {
    call: "create_wallet of an application",
    as: "application",
    request: ({ application }) => ["POST", "wallets", { application_id: application }],
    theirs: 201,
    reads: ["application_id"],
  },
  {
    call: "get_wallet_accounts",
    as: "user",
    request: ({ wallet }) => ["GET", `wallets/${wallet}/accounts`],
    theirs: 200,
  },
  {
    call: "execute_contract",
    as: "user",
    request: ({ wallet }) => ["POST", `contracts/${randomUUID()}/execute`, { value: 0, wallet_id: wallet }],
    theirs: 202,
    ours: { status: 404, because: "their contract is on a network that ended; one that exists needs a signer's path" },
  },
  { call: "get_networks", as: "organization", request: () => ["GET", "networks"], theirs: 200 },
  {
    call: "create_network",
    as: "application",
    request: ({ application }) => ["POST", "networks", { ...NETWORK, Application_id: application }],
    theirs: 201,
    reads: ["id", "created_at", "name", "enabled", "chain_id", "config"],
  },
  {
    call: "create_network of a user",
    as: "user",
    request: ({ application }) => ["POST", "networks", { ...NETWORK, application_id: application }],
    theirs: 201,
    reads: ["user_id", "application_id"],
  },
  {
    call: "create_transaction",
    as: "user",
    request: ({ user, wallet }) => [
      "POST",
      "transactions",
      {
        network_id: SEPOLIA,
        user_id: user,
        wallet_id: wallet,
        hd_derivation_path: "m/44'/60'/0'/0/0",
        to: "7c8fe6f1-38c3-4da1-b4b7-7591c6d0ca7c",
        value: 0,
      },
    ],
    theirs: 201,
    ours: { status: 422, because: "their receiver is no address, and money sent to none is lost" },
  },
  { call: "get_transactions", as: "user", request: () => ["GET", "transactions"], theirs: 200 },
  { call: "get_oracles", as: "application", request: () => ["GET", "oracles"], theirs: 200 },
  { call: "ListBridges (provide-go)", as: "application", request: () => ["GET", "bridges"], theirs: 200 },
  {
    call: "ListTokenContracts (provide-go)",
    as: "application",
    request: () => ["GET", `tokens?network_id=${SEPOLIA}`],
    theirs: 200,
  },
  {
    call: "GetNetworkStatusMeta (provide-go)",
    as: "user",
    request: () => ["GET", `networks/${SEPOLIA}/status`],
    theirs: 200,
  },
];

export const IDENTITY: readonly Row[] = [
  {
    call: "create_user",
    as: "nobody",
    request: () => [
      "POST",
      "users",
      {
        first_name: "Ada",
        last_name: "Lovelace",
        email: `${randomUUID()}@example.com`,
        password: "a phrase of my own",
      },
    ],
    theirs: 201,
    reads: ["id", "created_at", "name", "first_name", "last_name", "email", "permissions"],
  },
  {
    call: "authenticate",
    as: "nobody",
    request: ({ email, password }) => ["POST", "authenticate", { email, password, scope: "offline_access" }],
    theirs: 201,
    reads: ["user", "token"],
  },
  { call: "get_user", as: "user", request: ({ user }) => ["GET", `users/${user}`], theirs: 200 },
  {
    call: "list_users",
    as: "user",
    request: () => ["GET", "users"],
    theirs: 403,
    ours: { status: 200, because: "a user may see the users of its own applications and organizations" },
  },
  { call: "list_organizations", as: "user", request: () => ["GET", "organizations"], theirs: 200 },
  {
    call: "get_organization",
    as: "user",
    request: ({ organization }) => ["GET", `organizations/${organization}`],
    theirs: 200,
    reads: ["id", "created_at", "name", "user_id", "description", "metadata"],
  },
  {
    call: "authenticate_organization",
    as: "user",
    request: ({ organization }) => ["POST", "tokens", { organization_id: organization, scope: "offline_access" }],
    theirs: 201,
    reads: ["id", "access_token", "refresh_token"],
  },
  {
    call: "authenticate_application",
    as: "user",
    request: ({ application }) => ["POST", "tokens", { application_id: application, scope: "offline_access" }],
    theirs: 201,
    reads: ["id", "access_token", "refresh_token"],
  },
  { call: "list_tokens", as: "user", request: () => ["GET", "tokens"], theirs: 200 },
  { call: "list_applications", as: "user", request: () => ["GET", "applications"], theirs: 200 },
  {
    call: "create_application",
    as: "user",
    request: ({ user }) => [
      "POST",
      "applications",
      {
        network_id: ROPSTEN,
        user_id: user,
        name: "Ada application",
        description: "Some application description",
        type: "message_bus",
        hidden: false,
      },
    ],
    theirs: 201,
    reads: ["id", "created_at", "network_id", "user_id", "name", "description", "type", "hidden"],
  },
  {
    call: "update_application",
    as: "user",
    request: ({ application }) => ["PUT", `applications/${application}`, { description: "An updated description" }],
    theirs: 204,
  },
  {
    call: "update_application with its owner",
    as: "user",
    request: ({ application, user }) => [
      "PUT",
      `applications/${application}`,
      { network_id: SEPOLIA, user_id: user, name: "Ada application", description: "Another one", hidden: false },
    ],
    theirs: 204,
  },
  {
    call: "create_organization",
    as: "user",
    request: ({ user }) => [
      "POST",
      "organizations",
      { name: "Ada organization", description: "Some description", user_id: user, metadata: { hello: "world" } },
    ],
    theirs: 201,
    reads: ["id", "created_at", "name", "user_id", "description", "metadata"],
  },
  {
    call: "update_organization",
    as: "user",
    request: ({ organization, user }) => [
      "PUT",
      `organizations/${organization}`,
      { name: "Ada organization", description: "An updated description", user_id: user },
    ],
    theirs: 204,
  },
  {
    call: "update_user",
    as: "user",
    request: ({ user }) => ["PUT", `users/${user}`, { name: "Ada King" }],
    theirs: 204,
  },
  {
    call: "create_invitation",
    as: "organization",
    request: (world) => ["POST", "invitations", { ...invitation(world), permissions: 415 }],
    theirs: 204,
    ours: { status: 403, because: "415 holds `authenticate`, which members of an organization have not to grant" },
  },
  {
    call: "create_invitation with permissions that the organization grants",
    as: "organization",
    request: (world) => ["POST", "invitations", { ...invitation(world), permissions: 414 }],
    theirs: 204,
  },
  {
    call: "request_password_reset",
    as: "nobody",
    request: ({ email }) => ["POST", "reset_password", { email }],
    theirs: 204,
  },
  {
    call: "fetch_organization_vaults",
    as: "user",
    request: ({ organization }) => ["GET", `organizations/${organization}/vaults`],
    theirs: 200,
  },
];

export const VAULT: readonly Row[] = [
  {
    call: "create_vault",
    as: "user",
    request: () => ["POST", "vaults", { name: "Ada Vault", description: "Some vault description" }],
    theirs: 201,
    reads: ["id", "created_at", "name"],
  },
  { call: "list_vaults", as: "user", request: () => ["GET", "vaults"], theirs: 200 },
  {
    call: "create_seal_unseal_key",
    as: "user",
    request: () => ["POST", "unsealerkey"],
    theirs: 201,
    reads: ["key", "validation_hash"],
  },
  {
    call: "unseal_vault",
    as: "user",
    request: () => ["POST", "unseal", { key: "any words, which an unsealed vault took" }],
    theirs: 204,
    ours: { status: 403, because: "a wrong seal key is refused, sealed or not" },
  },
  {
    call: "create_key",
    as: "user",
    request: ({ vault }) => [
      "POST",
      `vaults/${vault}/keys`,
      { type: "symmetric", usage: "encrypt/decrypt", spec: "ChaCha20", name: "Ada", description: "Some key" },
    ],
    theirs: 201,
    reads: ["id", "created_at", "vault_id", "type", "usage", "spec", "name", "description"],
  },
  {
    call: "derive_key",
    as: "user",
    request: ({ vault, key }) => [
      "POST",
      `vaults/${vault}/keys/${key}/derive`,
      { nonce: 2, context: "provide rust testing", name: "Ada", description: "Some derived key" },
    ],
    theirs: 201,
  },
  {
    call: "encrypt",
    as: "user",
    request: ({ vault, key }) => ["POST", `vaults/${vault}/keys/${key}/encrypt`, { data: "some data" }],
    theirs: 200,
    reads: ["data"],
  },
  { call: "list_keys", as: "user", request: ({ vault }) => ["GET", `vaults/${vault}/keys`], theirs: 200 },
  {
    call: "store_secret",
    as: "user",
    request: ({ vault }) => ["POST", `vaults/${vault}/secrets`, SECRET],
    theirs: 201,
    reads: ["id", "created_at", "vault_id", "type", "name", "description"],
  },
];

export const PROVER: readonly Row[] = [
  { call: "list_provers", as: "user", request: () => ["GET", "provers"], theirs: 200 },
  {
    call: "create_prover",
    as: "application",
    request: () => [
      "POST",
      "provers",
      { name: "Ada", identifier: "cubic", provider: "gnark", proving_scheme: "groth16", curve: "BN254" },
    ],
    theirs: 201,
    ours: { status: 422, because: "the proofs are not gnark's; an operator may name it as an alias" },
  },
  {
    call: "create_prover where gnark is an alias",
    as: "application",
    request: () => [
      "POST",
      "provers",
      { name: "Ada", identifier: "cubic", provider: "circom", proving_scheme: "groth16", curve: "BN254" },
    ],
    theirs: 201,
    ours: { status: 202, because: "the setup follows in the background" },
    reads: ["id", "created_at", "name", "status", "note_store_id", "vault_id"],
  },
  {
    call: "generate_proof",
    as: "application",
    request: ({ prover }) => [
      "POST",
      `provers/${prover.id}/prove`,
      {
        identifier: "cubic",
        proving_scheme: "groth16",
        curve: "BN254",
        provider: "circom",
        name: PROVER_NAME,
        store_id: prover.note_store_id,
        witness: { X: "3", Y: "35" },
      },
    ],
    theirs: 200,
    ours: { status: 201, because: "a proof and its note are made" },
    reads: ["proof"],
  },
  {
    call: "verify_proof",
    as: "application",
    request: ({ prover, proof }) => ["POST", `provers/${prover.id}/verify`, { witness: { X: "3", Y: "35" }, proof }],
    theirs: 200,
    reads: ["result"],
  },
  {
    call: "verify_proof with what generate_proof repeats of the prover",
    as: "application",
    request: ({ prover, proof }) => [
      "POST",
      `provers/${prover.id}/verify`,
      {
        identifier: "cubic",
        proving_scheme: "groth16",
        curve: "BN254",
        provider: "circom",
        name: PROVER_NAME,
        store_id: prover.note_store_id,
        witness: { X: "3", Y: "35" },
        proof,
      },
    ],
    theirs: 200,
    reads: ["result"],
  },
];
