/**
 * The JSON-RPC port (Ethereum JSON-RPC, EIP-1474) by which the chain area asks a network's nodes. FailoverRpc
 * implements it over several URLs.
 */

export interface RpcOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /**
   * True for an answer that is too long to be kept: of the result only the members with short values stay, and a list
   * becomes the number of its items (JsonOutline). Of single calls only.
   */
  readonly isOutline?: boolean;
}

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What came of one call among several. */
export type RpcOutcome =
  | { readonly ok: true; readonly result: unknown }
  /** RpcRefusal or AppError, as `request` rejects with. */
  | { readonly ok: false; readonly error: unknown };

export interface Rpc {
  /**
   * One call. Resolves to the `result` member, parsed under the limits of the egress guard; callers check its form.
   * Rejects with RpcRefusal when the node answered with an error object, with AppError `network_unreachable`,
   * `network_timeout`, `network_answer_invalid` or `network_chain_mismatch` when no sound answer came from any node.
   */
  request(method: string, params: readonly unknown[], options?: RpcOptions): Promise<unknown>;
  /**
   * Several calls with as few requests as the node allows (JSON-RPC 2.0, section 6), begun in their order; outcomes in
   * that order. Rejects only with the signal's reason. Absent where every call is a request of its own; the function
   * `requestMany` of rpc-batch.ts works with both.
   */
  requestMany?(calls: readonly RpcCall[], options?: RpcOptions): Promise<readonly RpcOutcome[]>;
}

/** The node understood the call and refused it (an EIP-1474 error object). */
export class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
  /** The code of the error object. */
  readonly code: number;
  /** Return data of a reverted call, 0x-hex, when the node sent some. */
  readonly data: string | undefined;
  /** True when another node heard the call too, and failed: it may have done what was asked. */
  readonly isAfterFailure: boolean;

  constructor(
    message: string,
    code: number,
    data?: string,
    { isAfterFailure = false }: { readonly isAfterFailure?: boolean } = {},
  ) {
    super(message);
    this.code = code;
    this.data = data;
    this.isAfterFailure = isAfterFailure;
  }

  /** Returns the same refusal of a node, where another heard the call and failed. */
  afterFailure(): RpcRefusal {
    return new RpcRefusal(this.message, this.code, this.data, { isAfterFailure: true });
  }
}
