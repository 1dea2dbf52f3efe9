/** What calls of the SDK fail with. All of them have a `code` for programs and a sentence for people. */

export interface ApiErrorEntry {
  readonly message: string;
  readonly code: string;
  readonly path?: string;
  /** Why a contract refused a call: the error's name and arguments, as far as they are known, and its data. */
  readonly revert?: { readonly name: string | null; readonly args: unknown; readonly data: string };
}

/** An error response of the server. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /**
   * Code of the first entry of `errors`; `unknown` when the body is not of the API's error form; `redirected` for a
   * redirect, and `not_json` for a good answer that is no JSON: both are of something between here and the server.
   */
  readonly code: string;
  readonly errors: readonly ApiErrorEntry[];
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  readonly retryAfterSec: number | undefined;

  /** @param init.code in place of that of the first entry */
  constructor(init: {
    status: number;
    code?: string;
    message: string;
    errors: readonly ApiErrorEntry[];
    requestId: string | undefined;
    retryAfterSec: number | undefined;
  }) {
    super(init.message);
    this.status = init.status;
    this.code = init.code ?? init.errors[0]?.code ?? "unknown";
    this.errors = init.errors;
    this.requestId = init.requestId;
    this.retryAfterSec = init.retryAfterSec;
  }

  /** Reads an error response. A body in another form than the API's (a proxy's page) keeps its status alone. */
  static async read(response: Response): Promise<ApiError> {
    const parsed = parsedFailure(await response.text());
    const retryAfter = response.headers.get("Retry-After");
    return new ApiError({
      status: response.status,
      message: parsed?.message ?? `the server answered ${String(response.status)}`,
      errors: parsed?.errors ?? [],
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      retryAfterSec: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
    });
  }
}

/** The server gave no answer: it cannot be reached, or the connection broke. `cause` is what `fetch` threw. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code = "connection_failed";
}

/** Something took longer than the caller allows. What the server does goes on. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
  readonly code = "timeout";
}

/** A prover's provisioning failed. */
export class ProvisioningError extends Error {
  override readonly name = "ProvisioningError";
  readonly code: string;
  readonly proverId: string;
  /** What the compiler or a later step said, with places in the source. */
  readonly errors: readonly { readonly message: string; readonly code: string }[];

  constructor(proverId: string, errors: ProvisioningError["errors"]) {
    super(errors[0]?.message ?? "provisioning failed without a reason");
    this.code = errors[0]?.code ?? "unknown";
    this.proverId = proverId;
    this.errors = errors;
  }
}

/** A proof that was asked for as a job did not come about. */
export class JobError extends Error {
  override readonly name = "JobError";
  /** What prove would have answered; `cancelled` or `expired` where the job ended otherwise. */
  readonly code: string;
  readonly jobId: string;
  readonly status: string;
  readonly errors: readonly ApiErrorEntry[];

  constructor(job: {
    readonly id: string;
    readonly status: string;
    readonly error: {
      readonly code: string;
      readonly message: string;
      readonly errors: readonly ApiErrorEntry[];
    } | null;
  }) {
    super(job.error?.message ?? `the job is ${job.status}`);
    this.code = job.error?.code ?? job.status;
    this.jobId = job.id;
    this.status = job.status;
    this.errors = job.error?.errors ?? [];
  }
}

interface EndedTransaction {
  readonly id: string;
  /** `failed`, `replaced` or `cancelled`. */
  readonly state: string;
  readonly error: { readonly message: string; readonly code: string } | null;
}

/** A transaction failed, was cancelled, or another one took its nonce. */
export class TransactionError extends Error {
  override readonly name = "TransactionError";
  /** The server's code, or the state where that says all. */
  readonly code: string;
  readonly transactionId: string;

  constructor({ id, state, error }: EndedTransaction) {
    super(
      error?.message ??
        (state === "failed" ? "the transaction failed without a reason" : `the transaction was ${state}`),
    );
    this.code = error?.code ?? state;
    this.transactionId = id;
  }
}

/** The server ended an event stream for a reason with which it cannot go on, such as `token_revoked`. */
export class StreamEndedError extends Error {
  override readonly name = "StreamEndedError";
  readonly code: string;
  /** Number of the last event that came; a later stream may begin there. */
  readonly lastEventId: number | undefined;

  constructor(reason: string, lastEventId: number | undefined) {
    super(`the server ended the stream: ${reason}`);
    this.code = reason;
    this.lastEventId = lastEventId;
  }
}

/** Reads the API's form of an error, or that of OAuth's routes (RFC 6749 section 5.2). */
function parsedFailure(text: string): { message: string; errors: readonly ApiErrorEntry[] } | undefined {
  try {
    const value = JSON.parse(text) as Partial<
      Record<"message" | "errors" | "error" | "error_description", unknown>
    > | null;
    if (typeof value?.error === "string") {
      const message = typeof value.error_description === "string" ? value.error_description : value.error;
      return { message, errors: [{ message, code: value.error }] };
    }
    if (typeof value?.message !== "string") return undefined;
    return { message: value.message, errors: Array.isArray(value.errors) ? (value.errors as ApiErrorEntry[]) : [] };
  } catch {
    return undefined;
  }
}
