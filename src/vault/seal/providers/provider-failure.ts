/**
 * How seal providers fail: with a sentence of our own for the operator, in bounded time. Messages of SDKs are not
 * repeated, because they may quote requests; their statuses and error codes are.
 */

/** Says that the source of the seal key cannot be used. The message is for the operator and holds no secret. */
export class SealProviderError extends Error {
  override readonly name = "SealProviderError";
  /** False when only a person can remove the cause, so that trying again is pointless. */
  readonly mayPass: boolean;

  constructor(message: string, options: { readonly mayPass: boolean }) {
    super(message);
    this.mayPass = options.mayPass;
  }
}

/**
 * Runs a provider's work with a deadline that does not depend on the SDK. Throws every failure as a SealProviderError.
 */
export async function bounded<T>(
  provider: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new SealProviderError(`the seal provider ${provider} did not answer within ${String(timeoutMs / 1000)} s`, {
          mayPass: true,
        }),
      );
      controller.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(controller.signal), tooSlow]);
  } catch (error) {
    throw error instanceof SealProviderError ? error : described(provider, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Loads a vendor's SDK, which is an optional peer dependency. Throws SealProviderError when it is not installed. */
export async function loadSdk<T>(provider: string, packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (codesOf(error).includes("ERR_MODULE_NOT_FOUND")) {
      throw new SealProviderError(
        `the seal provider ${provider} needs packages that are not installed: run \`npm install ${packages}\``,
        { mayPass: false },
      );
    }
    throw error;
  }
}

const DENIED = new Set([401, 403]);

function described(provider: string, error: unknown): SealProviderError {
  const status = statusOf(error);
  if (status !== undefined && DENIED.has(status))
    return new SealProviderError(
      `the seal provider ${provider} refused access (status ${String(status)}): check identity and permissions`,
      { mayPass: true },
    );
  if (status === 404)
    return new SealProviderError(`the seal provider ${provider} does not know the key or secret (status 404)`, {
      mayPass: true,
    });
  if (status !== undefined)
    return new SealProviderError(`the seal provider ${provider} answered with status ${String(status)}`, {
      mayPass: true,
    });
  const code = codesOf(error)[0];
  return new SealProviderError(
    `the seal provider ${provider} cannot be reached or used${code === undefined ? "" : ` (${code})`}`,
    { mayPass: true },
  );
}

/**
 * Returns the HTTP status of an SDK's error: Azure `statusCode`, AWS `$metadata.httpStatusCode`, Google `status` or
 * `response.status`.
 */
function statusOf(error: unknown): number | undefined {
  const members = membersOf(error);
  const candidates = [
    members.statusCode,
    membersOf(members.$metadata).httpStatusCode,
    membersOf(members.response).status,
    members.status,
    HTTP_OF_GRPC[Number(members.code)],
  ];
  return candidates.find((value): value is number => typeof value === "number" && value >= 300 && value < 600);
}

/** HTTP statuses of the refusals among the codes of google.rpc.Code. */
const HTTP_OF_GRPC: Readonly<Record<number, number>> = {
  3: 400,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  13: 500,
  14: 503,
  16: 401,
};

/** Returns the error codes in capitals (`ECONNREFUSED`) of an error and its causes, never free text. */
function codesOf(error: unknown): string[] {
  const found: string[] = [];
  for (let current = error, depth = 0; current instanceof Error && depth < 4; current = current.cause, depth += 1) {
    const { code } = membersOf(current);
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) found.push(code);
  }
  return found;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
