/** Calls of endpoints, typed by their routes. The resources of the SDK consist of these. */
import type {
  AnswerAt,
  BytesEndpoint,
  CreateEndpoint,
  Endpoint,
  InputAt,
  ItemAt,
  JsonEndpoint,
  ListEndpoint,
  StreamEndpoint,
} from "./endpoints.js";
import { ApiError } from "./errors.js";
import { Pages } from "./pages.js";
import { wholeBody, type CallOptions, type LooseRequest, type Transport } from "./transport.js";

const TOTAL_HEADER = "X-Total-Results-Count";

/** An answer with its status and headers. */
export interface FullAnswer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** Calls endpoints of one server. */
export class Calls {
  readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Returns an answer with its status and headers. */
  async full<E extends JsonEndpoint>(
    endpoint: E,
    input: InputAt<E>,
    options?: CallOptions,
  ): Promise<FullAnswer<AnswerAt<E>>> {
    const response = await this.transport.send(requestOf(endpoint, input), options);
    const body = (await jsonOf(response, options?.signal)) as AnswerAt<E>;
    return { status: response.status, headers: response.headers, body };
  }

  /** Returns the JSON that an endpoint answers, undefined where it answers none. */
  async json<E extends JsonEndpoint>(endpoint: E, input: InputAt<E>, options?: CallOptions): Promise<AnswerAt<E>> {
    return (await this.full(endpoint, input, options)).body;
  }

  /** As `json`, for a route that makes something: named by a key of its own, it is safe to send again. */
  async create<E extends CreateEndpoint & JsonEndpoint>(
    endpoint: E,
    input: InputAt<E>,
    options: CallOptions = {},
  ): Promise<AnswerAt<E>> {
    const idempotencyKey = options.idempotencyKey ?? globalThis.crypto.randomUUID();
    return (await this.full<E>(endpoint, input, { ...options, idempotencyKey })).body;
  }

  /** Returns the bytes that an endpoint answers. */
  async bytes<E extends BytesEndpoint>(endpoint: E, input: InputAt<E>, options?: CallOptions): Promise<Uint8Array> {
    const response = await this.transport.send(requestOf(endpoint, input), {
      ...options,
      headers: { Accept: "*/*", ...options?.headers },
    });
    return await wholeBody(response, options?.signal);
  }

  /** Opens a stream. */
  async open<E extends StreamEndpoint>(endpoint: E, input: InputAt<E>, options?: CallOptions): Promise<Response> {
    return await this.transport.send(requestOf(endpoint, input), options);
  }

  /** Returns a list, of which nothing is asked for yet. */
  list<E extends ListEndpoint>(endpoint: E, input: InputAt<E>, options?: CallOptions): Pages<ItemAt<E>> {
    const request = requestOf(endpoint, input);
    return new Pages(async (choice) => {
      const response = await this.transport.send({ ...request, query: { ...request.query, ...choice } }, options);
      const items = (await jsonOf(response, options?.signal)) as ItemAt<E>[];
      return { items, total: Number(response.headers.get(TOTAL_HEADER) ?? items.length) };
    });
  }
}

/** Throws ApiError `not_json` for what a proxy answers in the server's place; ConnectionError when it breaks off. */
async function jsonOf(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const text = new TextDecoder().decode(await wholeBody(response, signal));
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ApiError({
      status: response.status,
      code: "not_json",
      message: "the answer is no JSON: something else than a Proofwright server answers at this address",
      errors: [],
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      retryAfterSec: undefined,
    });
  }
}

function requestOf(endpoint: Endpoint, input: object): LooseRequest {
  const at = endpoint.indexOf(" ");
  return { ...input, method: endpoint.slice(0, at), path: endpoint.slice(at + 1) };
}
