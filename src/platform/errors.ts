/**
 * The expected failures of the service: one closed table of codes, each with its HTTP status. Codes are stable and for
 * programs; messages are for people. Neither ever contains a secret or stored plaintext.
 */

/** Every error code of an answer, with its HTTP status, grouped by area. */
export const ERROR_STATUS = {
  // Request form
  malformed_json: 400,
  malformed_path: 400,
  malformed_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  length_required: 411,
  body_too_large: 413,
  /** Files of a form or an archive that are refused: their names, kinds, checksums or contents. */
  files_invalid: 422,
  /** Files of a form or an archive that are too many, or too long when unpacked. */
  files_too_large: 413,
  unsupported_media_type: 415,
  invalid_request: 422,
  unknown_member: 422,
  upgrade_required: 426,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  idempotency_in_progress: 409,
  // Authentication and authorization
  unauthorized: 401,
  forbidden: 403,
  too_many_requests: 429,
  // Capacity and state of the service
  internal_error: 500,
  data_corrupt: 500,
  overloaded: 503,
  deadline_exceeded: 503,
  shutting_down: 503,
  storage_full: 507,
  storage_failed: 503,
  /** The cluster's database cannot be reached; nothing was written. */
  store_unreachable: 503,
  /** This node of the cluster has not got what the request may see; another try, or another node, may have. */
  replica_behind: 503,
  /** The cluster's database, or the node that sends transactions, has begun with it and not said how it ended. */
  outcome_unknown: 503,
  audit_unavailable: 503,
  // Identity
  invalid_credentials: 401,
  email_taken: 409,
  weak_password: 422,
  invalid_email: 422,
  invalid_grant: 401,
  invalid_client: 401,
  invitation_invalid: 422,
  reset_token_invalid: 422,
  confirmation_token_invalid: 422,
  /** The password is right, and the address must be confirmed before a login. */
  email_unconfirmed: 403,
  unsupported_grant: 422,
  /** The OAuth client may not use this grant. */
  unauthorized_client: 400,
  // The device flow: states of a code that is asked for again and again
  authorization_pending: 400,
  slow_down: 400,
  access_denied: 400,
  expired_token: 400,
  permission_escalation: 403,
  /** The token's scope lacks one that the route needs. */
  insufficient_scope: 403,
  /** The application or organization would be left without a member who can grant access. */
  last_granter: 409,
  // Vault
  vault_sealed: 503,
  vault_not_configured: 409,
  seal_key_rejected: 403,
  seal_key_mismatch: 409,
  seal_unsupported: 409,
  /** The provider of the seal key did not return it. */
  seal_provider_failed: 503,
  key_spec_unknown: 422,
  key_type_mismatch: 422,
  spec_cannot_encrypt: 400,
  spec_cannot_decrypt: 400,
  spec_cannot_sign: 400,
  spec_cannot_verify: 400,
  spec_cannot_derive: 400,
  spec_cannot_agree: 400,
  spec_cannot_prove_possession: 400,
  spec_has_no_xpub: 400,
  message_required: 422,
  message_too_long: 422,
  message_out_of_field: 422,
  messages_not_distinct: 422,
  digest_length_invalid: 422,
  option_unsupported: 422,
  algorithm_unsupported: 422,
  transaction_invalid: 422,
  typed_data_invalid: 422,
  public_key_invalid: 422,
  signature_malformed: 422,
  derivation_path_invalid: 422,
  derivation_index_exhausted: 409,
  signature_self_check_failed: 500,
  master_key_immutable: 409,
  key_disabled: 409,
  /** A key that this server made to sign its own statements, which nobody else may sign with. */
  key_server_only: 409,
  key_not_rotatable: 409,
  key_not_deleted: 409,
  /** A secret whose deletion is planned can be restored, but not read; a key can be restored, but not enabled. */
  deletion_planned: 409,
  deletion_not_planned: 409,
  nonce_reused: 409,
  decryption_failed: 422,
  secret_too_long: 422,
  // Prover registry
  prover_unsupported: 422,
  identifier_unknown: 422,
  source_invalid: 422,
  /** A part of a file that does not begin where the last one ended. */
  upload_out_of_order: 409,
  /** The prover takes no file of this name, or has it already. */
  upload_not_expected: 409,
  /** A file with another SHA-256 than was said. */
  upload_digest_mismatch: 422,
  prover_not_provisioned: 409,
  witness_missing: 422,
  witness_invalid: 422,
  constraints_unsatisfied: 422,
  /** The work takes more memory than the server has for it, so that another try would end the same way. */
  insufficient_memory: 422,
  proof_malformed: 422,
  proof_self_check_failed: 500,
  artifact_corrupt: 500,
  /** A note or a nullifier that was spent before. */
  note_double_spend: 409,
  prover_busy: 409,
  store_unsuitable: 422,
  note_store_full: 409,
  prover_keys_missing: 409,
  /** The prover was made of a verifying key alone. */
  prover_verifies_only: 409,
  grant_limit_reached: 409,
  receipt_key_limit_reached: 409,
  tree_head_key_limit_reached: 409,
  /** Verifiers of different code say different things of one proof: one of them is wrong. */
  assurance_disagreement: 500,
  // Ceremonies
  /** The ceremony has not begun, or takes nothing of the kind any more. */
  ceremony_closed: 409,
  /** Participants, invitations or the queue are as many as they may be. */
  ceremony_full: 409,
  ceremony_not_your_turn: 409,
  /** Contributions are missing, or somebody has the lease. */
  ceremony_unfinished: 409,
  /** The key is not the present one with one contribution more; `details` names what does not hold. */
  contribution_invalid: 422,
  statement_invalid: 422,
  /** The value is not that of the drand round that the ceremony named. */
  beacon_invalid: 422,
  // Verifiers on chain
  verifier_limit_reached: 409,
  verifier_busy: 409,
  /** The prover has no verifier on the chain that could be asked. */
  verifier_missing: 409,
  verifier_not_deployed: 409,
  /** No node answered while a verifier was to be checked. */
  verifier_not_checked: 409,
  /** The proof with which a contract is to be tried is not valid. */
  known_answer_invalid: 422,
  /** The contract on the chain and this server answer differently: an alarm. */
  verifier_disagreement: 500,
  /** The address on the chain has other code than was deployed: an alarm. */
  verifier_code_mismatch: 500,
  // Chain: nodes of a network
  network_unreachable: 502,
  network_timeout: 504,
  network_answer_invalid: 502,
  network_chain_mismatch: 409,
  network_disabled: 409,
  network_has_no_node: 409,
  network_in_use: 409,
  network_limit_reached: 409,
  network_node_fixed: 409,
  // Outgoing requests to addresses that users gave
  egress_refused: 422,
  egress_timeout: 504,
  egress_unreachable: 502,
  egress_answer_too_large: 502,
  // Webhooks
  webhook_limit_reached: 409,
  webhook_disabled: 409,
  /** As many messages wait for the webhook as may. */
  webhook_backlog_full: 409,
  /** The webhook's secret was deleted from the vault. */
  webhook_secret_missing: 409,
  // Chain: accounts and transactions
  signer_not_found: 422,
  execution_reverted: 422,
  gas_estimate_failed: 422,
  insufficient_funds: 422,
  fee_cap_exceeded: 422,
  transaction_refused: 422,
  ref_taken: 409,
  nonce_in_use: 409,
  transaction_settled: 409,
  transaction_not_replaceable: 409,
  replacement_underpriced: 409,
  // Chain: contracts
  abi_invalid: 422,
  bytecode_invalid: 422,
  libraries_unlinked: 422,
  argument_invalid: 422,
  method_unknown: 422,
  method_ambiguous: 422,
  out_of_gas: 422,
  contract_answer_invalid: 422,
  contract_address_missing: 400,
  contract_not_deployed: 409,
  contract_deployed: 409,
  contract_ambiguous: 409,
  contract_limit_reached: 409,
  not_a_token: 422,
  // Connectors
  connector_type_unknown: 422,
  connector_config_invalid: 422,
  connector_unsupported: 422,
  connector_not_ready: 409,
  connector_limit_reached: 409,
  connector_unreachable: 502,
  connector_refused: 502,
  connector_answer_invalid: 502,
  connector_provider_failed: 502,
  connector_not_deleted: 502,
  connector_timeout: 504,
} as const satisfies Record<string, number>;

/** A stable, machine-readable failure code. */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** One entry of the `errors` list of an answer. */
export interface ErrorDetail {
  readonly message: string;
  readonly code: string;
  /** JSON pointer or dotted name of the member at fault. */
  readonly path?: string;
  /** What a contract said when it refused a call. */
  readonly revert?: Revert;
}

/** Return data of a reverted call, decoded as far as its error is known. */
export interface Revert {
  /** Name of the error: one of the contract's ABI, `Error` or `Panic`; null for another. */
  readonly name: string | null;
  /** Its arguments as JSON, by name where each has one, else as a list; null when they cannot be decoded. */
  readonly args: unknown;
  /** 0x-hex, cut where it is very long. */
  readonly data: string;
}

export interface AppErrorOptions {
  readonly message: string;
  /** Several errors at once, such as one per wrong member of a witness. Default: the message and code of the error. */
  readonly details?: readonly ErrorDetail[];
  /** Seconds after which another attempt may succeed; sent as Retry-After with 429 and 503. */
  readonly retryAfterSec?: number;
  readonly cause?: unknown;
}

/** An expected failure, which becomes the answer of the request. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  readonly retryAfterSec: number | undefined;

  constructor(code: ErrorCode, options: AppErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [{ message: options.message, code }];
    this.retryAfterSec = options.retryAfterSec;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/**
 * Returns the error for one wrong member of a request.
 * @param path dotted name of the member, such as `config.json_rpc_url`
 * @param message for people; names the rule, and never the member's content where that may be secret
 */
export function invalidMember(path: string, message: string, code: ErrorCode = "invalid_request"): AppError {
  return new AppError(code, { message, details: [{ message, code, path }] });
}

/**
 * Returns the error for something that does not exist for the caller. It is the same whether the thing is absent or
 * belongs to another tenant.
 * @param what the kind of thing, such as `key`
 */
export function notFound(what: string, cause?: unknown): AppError {
  return new AppError("not_found", { message: `${what} not found`, cause });
}

/**
 * Throws when an invariant of the program is broken; the request is then answered with 500.
 * @param sentence the invariant, such as `a stored value is JSON`
 */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${sentence}`);
}
