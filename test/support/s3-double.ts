/**
 * A local stand-in for an S3-compatible storage: the part of its API that shared files use, answering as the API
 * reference of Amazon S3 says (path-style addresses, XML, metadata, copies, ranges, parts, pages). It checks that each
 * request is signed by the key that it knows and that the content is what the signature covers.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface StoredObject {
  content: Buffer;
  metadata: Record<string, string>;
  modifiedMs: number;
}

interface Unfinished {
  readonly key: string;
  readonly metadata: Record<string, string>;
  readonly parts: Map<number, Buffer>;
  begunMs: number;
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

const DAY_MS = 86_400_000;
const PAGE = 2;
const NO_KEY = failure(404, "NoSuchKey");

export class S3Double {
  readonly bucket = "files";
  readonly accessKey = "AKIDEXAMPLE";
  readonly objects = new Map<string, StoredObject>();
  readonly unfinished = new Map<string, Unfinished>();
  /** Requests as `METHOD /path?query`, in order. */
  readonly requests: string[] = [];
  /** What becomes of a request in place of its answer: a status, or a connection that breaks in the midst of the answer. */
  fault: (request: string) => number | "break" | undefined = () => undefined;
  readonly #server: Server;
  #bytesMax = 0;

  private constructor() {
    this.#server = createServer((incoming, response) => {
      void this.#handle(incoming, response);
    });
  }

  static async start(): Promise<S3Double> {
    const double = new S3Double();
    await new Promise<void>((resolve) => {
      double.#server.listen(0, "127.0.0.1", resolve);
    });
    return double;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Longest body that one request has brought. */
  get bytesMax(): number {
    return this.#bytesMax;
  }

  /** Makes everything look a day and an hour older. */
  age(): void {
    for (const object of this.objects.values()) object.modifiedMs -= DAY_MS + 3_600_000;
    for (const upload of this.unfinished.values()) upload.begunMs -= DAY_MS + 3_600_000;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const content = Buffer.concat(pieces);
    this.#bytesMax = Math.max(this.#bytesMax, content.length);
    const request = `${incoming.method ?? ""} ${incoming.url ?? ""}`;
    this.requests.push(request);
    const fault = this.fault(request);
    const answer = typeof fault === "number" ? failure(fault, "Fault") : this.#answer(incoming, content);
    const body = Buffer.from(answer.body ?? "");
    const lengths = incoming.method === "HEAD" ? {} : { "content-length": String(body.length) };
    response.writeHead(answer.status, { ...lengths, ...answer.headers });
    if (fault !== "break") {
      response.end(incoming.method === "HEAD" ? undefined : body);
      return;
    }
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => {
      response.destroy();
    });
  }

  #answer(incoming: IncomingMessage, content: Buffer): Answer {
    const url = new URL(incoming.url ?? "", this.endpoint);
    const [, bucket, ...names] = decodeURIComponent(url.pathname).split("/");
    const { authorization = "", "x-amz-content-sha256": signed = "" } = incoming.headers;
    if (!authorization.startsWith(`AWS4-HMAC-SHA256 Credential=${this.accessKey}/`))
      return failure(403, "AccessDenied");
    if (/^[0-9a-f]{64}$/.test(String(signed)) && createHash("sha256").update(content).digest("hex") !== signed)
      return failure(400, "XAmzContentSHA256Mismatch");
    if (bucket !== this.bucket) return failure(404, "NoSuchBucket");
    const key = names.join("/");
    if (key === "") return url.searchParams.has("uploads") ? this.#listUploads() : this.#list(url.searchParams);
    return this.#object(incoming, { key, query: url.searchParams, content });
  }

  #object(
    { method, headers }: IncomingMessage,
    { key, query, content }: { readonly key: string; readonly query: URLSearchParams; readonly content: Buffer },
  ): Answer {
    const metadata = metadataOf(headers);
    const upload = query.get("uploadId") ?? undefined;
    if (upload !== undefined) return this.#part(method ?? "", upload, { query, content });
    if (method === "POST") return this.#begin(key, metadata);
    const found = this.objects.get(key);
    if (method === "PUT") {
      const source = headers["x-amz-copy-source"];
      const copied = source === undefined ? undefined : this.objects.get(decodeURIComponent(String(source)).slice(6));
      if (source !== undefined && copied === undefined) return NO_KEY;
      this.objects.set(key, { content: copied?.content ?? content, metadata, modifiedMs: Date.now() });
      return {
        status: 200,
        headers: { etag: '"1"' },
        ...(source === undefined ? {} : { body: "<CopyObjectResult/>" }),
      };
    }
    if (method === "DELETE") {
      this.objects.delete(key);
      return { status: 204 };
    }
    return found === undefined ? NO_KEY : read(found, headers.range);
  }

  #begin(key: string, metadata: Record<string, string>): Answer {
    const id = randomUUID();
    this.unfinished.set(id, { key, metadata, parts: new Map(), begunMs: Date.now() });
    const body = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
    return { status: 200, body };
  }

  #part(
    method: string,
    id: string,
    { query, content }: { readonly query: URLSearchParams; readonly content: Buffer },
  ): Answer {
    const upload = this.unfinished.get(id);
    if (upload === undefined) return failure(404, "NoSuchUpload");
    if (method === "PUT") {
      upload.parts.set(Number(query.get("partNumber")), content);
      return { status: 200, headers: { etag: `"${query.get("partNumber") ?? ""}"` } };
    }
    this.unfinished.delete(id);
    if (method === "DELETE") return { status: 204 };
    const named = [...content.toString("utf8").matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, n]) => Number(n));
    const parts = named.map((part) => upload.parts.get(part));
    if (parts.length === 0 || parts.includes(undefined)) return failure(400, "InvalidPart");
    const whole = Buffer.concat(parts as Buffer[]);
    this.objects.set(upload.key, { content: whole, metadata: upload.metadata, modifiedMs: Date.now() });
    return { status: 200, body: "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>" };
  }

  #list(query: URLSearchParams): Answer {
    const keys = [...this.objects.keys()].sort().filter((key) => key.startsWith(query.get("prefix") ?? ""));
    const from = Number(query.get("continuation-token") ?? 0);
    const contents = keys.slice(from, from + PAGE).map((key) => {
      const { content, modifiedMs } = this.objects.get(key)!;
      const modified = new Date(modifiedMs).toISOString();
      return `<Contents><Key>${key}</Key><Size>${String(content.length)}</Size><LastModified>${modified}</LastModified></Contents>`;
    });
    const next = from + PAGE < keys.length ? String(from + PAGE) : undefined;
    const more = next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`;
    return { status: 200, body: `<ListBucketResult>${contents.join("")}${more}</ListBucketResult>` };
  }

  #listUploads(): Answer {
    const uploads = [...this.unfinished].map(([id, { key, begunMs }]) => {
      const begun = new Date(begunMs).toISOString();
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun}</Initiated></Upload>`;
    });
    return { status: 200, body: `<ListMultipartUploadsResult>${uploads.join("")}</ListMultipartUploadsResult>` };
  }
}

function read({ content, metadata, modifiedMs }: StoredObject, range: string | undefined): Answer {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
  const headers = Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]));
  const common = { ...headers, "last-modified": new Date(modifiedMs).toUTCString(), etag: '"1"' };
  const body = content.subarray(from);
  return {
    status: range === undefined ? 200 : 206,
    headers: { ...common, "content-length": String(body.length) },
    body,
  };
}

function metadataOf(headers: IncomingMessage["headers"]): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
  return Object.fromEntries(named.map(([name, value]) => [name.slice("x-amz-meta-".length), String(value)]));
}

function failure(status: number, code: string): Answer {
  return { status, body: `<Error><Code>${code}</Code><Message>refused</Message></Error>` };
}
