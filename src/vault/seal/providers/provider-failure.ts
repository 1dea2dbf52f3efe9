/**
 * How seal providers fail: with a sentence of our own for the operator, in bounded time. Texts of SDKs are not
 * repeated, because they may quote requests; their status and error codes are.
 */

/** The source of the seal key cannot be used; the message is a sentence for the operator and holds nothing secret. */
export class SealProviderError extends Error {
  override readonly name = "SealProviderError";
  /** False when only a person can help, so that trying again is pointless. */
  readonly mayPass: boolean;

  constructor(message: string, options: { readonly mayPass: boolean }) {
    super(message);
    this.mayPass = options.mayPass;
  }
}

/**
 * Runs a provider's work with a deadline that holds whatever the SDK does; what it throws becomes a SealProviderError.
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

/** Loads a vendor's SDK, which is installed only where it is wanted. */
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
 * The HTTP status that an SDK's error carries: Azure `statusCode`, AWS `$metadata.httpStatusCode`, Google `status` or
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

/** Canonical codes of google.rpc.Code that stand for a refusal. */
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

/** Error codes in capitals (`ECONNREFUSED`) of an error and its causes; never free text. */
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
