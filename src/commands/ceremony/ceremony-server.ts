/** A ceremony's server as a contributor speaks with it: the routes of prover/ceremonies, over fetch. */
import { createWriteStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import timers from "node:timers/promises";
import { StartError } from "../../platform/start-error.js";
import { hashFile } from "../hash-file.js";

/** Where a ceremony is. */
export interface CeremonyAddress {
  /** Scheme, authority and what comes before `/api/v1`. */
  readonly base: string;
  readonly id: string;
}

/** What of a ceremony its contributor needs. */
export interface SeenCeremony {
  readonly state: string;
  readonly accepts: boolean;
  readonly reason: string | null;
  readonly circuit: { readonly identifier: string; readonly hash: string | null };
  readonly contributions: readonly TakenContribution[];
  readonly queue: readonly unknown[];
  readonly you: {
    readonly state: "waiting" | "offered" | "leased" | "contributed" | "gone";
    readonly position: number | null;
    readonly expires_at: string | null;
    readonly received: number;
  } | null;
}

export interface TakenContribution {
  readonly index: number;
  readonly name: string;
  readonly hash: string;
  readonly participant_id: string | null;
  readonly statement_text: string;
}

export interface Lease {
  readonly index: number;
  readonly expires_at: string;
  readonly key: { readonly sha256: string; readonly bytes: number };
}

/** The server answered with an error of its own, which trying again does not change. */
class CeremonyRefusal extends StartError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
/** Of one part of an upload: some seconds on a slow line. */
const PART_BYTES = 16 * 1024 ** 2;
/** A request is sent again so often when the connection or the server fails. */
const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 500;
/** So often the server may have no more than before: it was started anew, or parts reach another node of a cluster. */
const SETBACKS_MAX = 8;
const REQUEST_MS = 60_000;
/** The answer to the last part comes after the check. */
const UPLOAD_MS = 1_800_000;
const ERROR_CHARACTERS_MAX = 500;

/**
 * Reads a ceremony's address from any URL that has its id: of the API, or of the page.
 * @throws StartError for other text
 */
export function readCeremonyAddress(text: string): CeremonyAddress {
  const id = UUID.exec(text)?.[0].toLowerCase();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (id === undefined || url === undefined || !/^https?:$/.test(url.protocol))
    throw new StartError(`"${text}" is no address of a ceremony: https://HOST/api/v1/ceremonies/ID.`);
  if (url.username !== "" || url.password !== "")
    throw new StartError("the address of a ceremony holds no user and no password.");
  const path = url.pathname.replace(/\/(api\/v1|ceremony|ceremonies)(\/.*)?$/, "").replace(/\/$/, "");
  return { base: `${url.origin}${path}`, id };
}

export class CeremonyServer {
  readonly #url: string;
  #token: string | undefined;

  constructor({ base, id }: CeremonyAddress, token?: string) {
    this.#url = `${base}/api/v1/ceremonies/${id}`;
    this.#token = token;
  }

  /** Reads the ceremony. */
  async show(): Promise<SeenCeremony> {
    return (await this.#json("GET", "")) as SeenCeremony;
  }

  /**
   * Joins, and speaks as the new participant from then on.
   * @throws StartError when the server refuses; it hides a ceremony from those who are not invited
   */
  async join(
    name: string,
    invitation: string | undefined,
  ): Promise<{ readonly participant_id: string; readonly token: string }> {
    const body = invitation === undefined ? { name } : { name, invitation };
    try {
      const joined = (await this.#json("POST", "/join", body)) as { participant_id: string; token: string };
      this.#token = joined.token;
      return joined;
    } catch (error) {
      if (invitation !== undefined || !(error instanceof CeremonyRefusal) || error.code !== "not_found") throw error;
      throw new StartError("there is no such ceremony, or it takes only who is invited: --invitation-file=FILE.");
    }
  }

  /** Takes the lease, or renews it. */
  async lease(): Promise<Lease> {
    return (await this.#json("POST", "/lease")) as Lease;
  }

  /** Sends the signature of a contribution. */
  async sign(index: number, statement: object): Promise<void> {
    await this.#json("POST", `/contributions/${index}/statement`, statement);
  }

  /**
   * Downloads a file, going on where a broken connection left it.
   * @returns its SHA-256 in hex
   */
  async download(path: string, to: string, onProgress: (share: number) => void): Promise<string> {
    await (await open(to, "wx", 0o600)).close();
    await retried(async () => {
      const from = (await stat(to)).size;
      const headers = from === 0 ? {} : { range: `bytes=${from}-` };
      const answer = await this.#request("GET", path, { headers, deadlineMs: UPLOAD_MS });
      if (from > 0 && answer.status === 416) return;
      const isRest = answer.status === 206;
      const total = Number(answer.headers.get("content-length") ?? 0) + (isRest ? from : 0);
      let done = isRest ? from : 0;
      if (answer.body === null) throw new StartError("the server sent no file.");
      const source = Readable.fromWeb(answer.body).on("data", (chunk: Uint8Array) => {
        done += chunk.length;
        if (total > 0) onProgress(done / total);
      });
      await pipeline(source, createWriteStream(to, { flags: isRest ? "a" : "w" }));
    });
    return (await hashFile(to)).sha256;
  }

  /**
   * Uploads a contribution in parts, from its beginning: what came before was of another one. A part that did not come
   * through is sent again.
   * @throws StartError when the server refuses it, cannot be reached, or keeps losing what has come
   */
  async upload(path: string, onProgress: (share: number) => void): Promise<TakenContribution> {
    const { size } = await stat(path);
    const file = await open(path, "r");
    try {
      for (let from = 0, setbacks = 0; setbacks <= SETBACKS_MAX;) {
        if (from >= size) throw new StartError("the server has the whole file and did not take it; start again.");
        const part = new Uint8Array(Math.min(PART_BYTES, size - from));
        await file.read(part, 0, part.length, from);
        const range = `bytes ${from}-${from + part.length - 1}/${size}`;
        const answer = await this.#sendPart(part, range);
        if ("hash" in answer) return answer;
        if (answer.received <= from) setbacks += 1;
        from = answer.received;
        onProgress(from / size);
      }
      throw new StartError(
        "the server keeps losing what has come; a cluster's balancer has to send all parts to one node: tell its operator.",
      );
    } finally {
      await file.close();
    }
  }

  async #sendPart(
    part: Uint8Array<ArrayBuffer>,
    range: string,
  ): Promise<TakenContribution | { readonly received: number }> {
    const headers = { "content-type": "application/octet-stream", "content-range": range };
    let isLost = false;
    return await retried(async () => {
      try {
        const answer = await this.#request("PUT", "/contribution", { headers, body: part, deadlineMs: UPLOAD_MS });
        return (await answer.json()) as TakenContribution | { received: number };
      } catch (error) {
        // The server may not have noticed yet that the first connection is gone.
        if (isLost && error instanceof CeremonyRefusal && error.code === "conflict") throw new Error(error.message);
        isLost = true;
        // The part came, and its answer did not.
        const seen =
          error instanceof CeremonyRefusal && error.code !== "upload_out_of_order" ? undefined : await this.show();
        if (seen?.you?.state === "contributed") {
          const own = seen.contributions.at(-1);
          if (own !== undefined) return own;
        }
        if (seen !== undefined && error instanceof CeremonyRefusal) return { received: seen.you?.received ?? 0 };
        throw error;
      }
    });
  }

  async #json(method: string, path: string, body?: object): Promise<unknown> {
    return await retried(async () => {
      const sent =
        body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const answer = await this.#request(method, path, { ...sent, deadlineMs: REQUEST_MS });
      return answer.status === 204 ? undefined : await answer.json();
    });
  }

  async #request(
    method: string,
    path: string,
    {
      headers = {},
      body,
      deadlineMs,
    }: { headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer>; deadlineMs: number },
  ): Promise<Response> {
    const answer = await fetch(this.#url + path, {
      ...{ method, redirect: "error", signal: AbortSignal.timeout(deadlineMs) },
      headers: { ...headers, ...(this.#token === undefined ? {} : { authorization: `bearer ${this.#token}` }) },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.ok || answer.status === 416) return answer;
    const text = (await answer.text()).slice(0, 64 * ERROR_CHARACTERS_MAX);
    if (answer.status >= 500 || answer.status === 429) throw new Error(`the server answered ${answer.status}`);
    throw refusalOf(answer.status, text);
  }
}

function refusalOf(status: number, text: string): CeremonyRefusal {
  try {
    const { errors } = JSON.parse(text) as { readonly errors?: readonly { message?: unknown; code?: unknown }[] };
    const { message, code } = errors?.[0] ?? {};
    if (typeof message === "string" && typeof code === "string")
      return new CeremonyRefusal(code, `the server refused: ${message.slice(0, ERROR_CHARACTERS_MAX)}.`);
  } catch {
    // Not an answer of such a server.
  }
  return new CeremonyRefusal(String(status), `the server answered ${status}.`);
}

/** Tries again when the connection fails or the server is busy; a refusal is final. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (attempt === ATTEMPTS) throw new StartError(`the server cannot be reached: ${reasonOf(error)}.`);
      await timers.setTimeout(FIRST_PAUSE_MS * 2 ** attempt);
    }
  }
}

/** What failed; of "fetch failed" the cause, such as ECONNREFUSED, or that a certificate has expired. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // A name with several addresses fails with a list of errors, and no message of its own.
  const reason = cause.message === "" && "code" in cause ? String(cause.code) : cause.message;
  return reason === "" ? error.message : `${error.message}, ${reason}`;
}
