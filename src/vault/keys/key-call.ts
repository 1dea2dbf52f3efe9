/** Which key a request is about, for whom, and whether its caller still waits. */
import type { Subject } from "../../platform/auth/principal.js";

/** A key, its owner, and whether the caller still waits. */
export interface KeyCall {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  /** Its abort ends a batch before the next slice. */
  readonly signal?: AbortSignal;
}

/**
 * The call of a request, whose signal is created only when it is read, which most calls never do. A class, because a
 * getter in an object literal costs more than the rest of the call.
 */
export class RequestedKeyCall implements KeyCall {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  readonly #request: { readonly signal: AbortSignal };

  constructor(request: { readonly signal: AbortSignal }, { owner, vaultId, keyId }: Omit<KeyCall, "signal">) {
    this.owner = owner;
    this.vaultId = vaultId;
    this.keyId = keyId;
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }
}
