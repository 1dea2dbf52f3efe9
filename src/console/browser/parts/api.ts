/** Sends calls to the server and reads its answers. Failures carry the server's own sentence. */
import { queryText, type Call } from "./calls.js";
import { accessToken, forget } from "./session.js";

export interface Answer<T> {
  readonly body: T;
  readonly status: number;
  /** Results over all pages of a list. */
  readonly total: number | undefined;
}

interface ErrorBody {
  readonly message?: string;
  readonly errors?: readonly { readonly message: string; readonly code: string; readonly path?: string }[];
}

/** The server refused a call, or could not be asked. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface SendOptions {
  readonly signal?: AbortSignal;
  /** In place of the user's token; null for none. */
  readonly token?: string | null;
}

/** Sends a call and returns its JSON. Throws ApiFailure with the server's sentence. */
export async function send<T>(call: Call, options: SendOptions = {}): Promise<Answer<T>> {
  const answer = await sendRaw(call, options);
  const text = await answer.text();
  const total = answer.headers.get("X-Total-Results-Count");
  return {
    body: (text === "" ? undefined : JSON.parse(text)) as T,
    status: answer.status,
    total: total === null ? undefined : Number(total),
  };
}

/** Sends a call and returns the answer as it came, when it is a good one. Throws ApiFailure. */
export async function sendRaw(call: Call, options: SendOptions = {}): Promise<Response> {
  const token = options.token === undefined ? await accessToken() : (options.token ?? undefined);
  let answer = await fetchOnce(call, token, options);
  if (answer.status === 401 && options.token === undefined && token !== undefined) {
    const fresh = await accessToken({ refused: token });
    // The same token comes back while the server cannot give another, which says nothing about the session.
    if (fresh !== undefined && fresh !== token) {
      answer = await fetchOnce(call, fresh, options);
      if (answer.status === 401) forget();
    }
  }
  if (answer.ok) return answer;
  throw await failureOf(answer);
}

async function fetchOnce(call: Call, token: string | undefined, { signal }: SendOptions): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(call.path.slice(1) + queryText(call.query), {
      method: call.method,
      headers,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiFailure(0, "unreachable", "The server cannot be reached. Is it running?");
  }
}

async function failureOf(answer: Response): Promise<ApiFailure> {
  const text = await answer.text();
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // A proxy in between answered in its own words.
  }
  const sentences = (body.errors ?? []).map(({ message }) => message);
  const sentence = sentences.length > 0 ? [...new Set(sentences)].join(". ") : body.message;
  return new ApiFailure(
    answer.status,
    body.errors?.[0]?.code ?? "",
    sentence ?? `the server answered ${String(answer.status)} ${answer.statusText}`,
  );
}

/** Returns the sentence of whatever was thrown. */
export function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
