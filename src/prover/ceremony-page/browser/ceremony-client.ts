/** The page's requests to its own server, as a participant of one ceremony. What breaks off goes on where it was. */
import { browser } from "./browser-scope.js";
import { Refusal, retried } from "./retries.js";

export interface PageCeremony {
  readonly state: string;
  readonly accepts: boolean;
  readonly circuit: { readonly identifier: string; readonly hash: string | null };
  readonly contributions: readonly (PageContribution & { readonly participant_id: string | null })[];
  readonly queue: readonly unknown[];
  readonly you: {
    readonly participant_id: string;
    readonly state: string;
    readonly position: number | null;
    readonly received: number;
  } | null;
}

export interface PageLease {
  readonly index: number;
  readonly key: { readonly sha256: string; readonly bytes: number };
}

export interface PageContribution {
  readonly index: number;
  readonly name: string;
  readonly hash: string;
  readonly statement_text: string;
}

const PART_BYTES = 8 * 1024 ** 2;
/** So often the server may have no more than before: it was started anew, or parts reach another node of a cluster. */
const SETBACKS_MAX = 8;
const ERROR_CHARACTERS_MAX = 500;
const REQUEST_MS = 60_000;
/** The answer to the last part comes after the check, which may wait for others. */
const UPLOAD_MS = 1_800_000;
/** A download without a byte for so long has broken off. */
const STALLED_MS = 30_000;

export class CeremonyClient {
  readonly #url: string;
  readonly #onPause: (seconds: number) => void;
  #token: string | undefined;

  /** @param onPause told how long it waits after a request that failed */
  constructor(id: string, token: string | undefined, onPause: (seconds: number) => void) {
    this.#url = new URL(`api/v1/ceremonies/${id}`, browser.location.href).href;
    this.#token = token;
    this.#onPause = onPause;
  }

  /** Reads the ceremony. */
  async show(): Promise<PageCeremony> {
    return (await this.#json("GET", "")) as PageCeremony;
  }

  /** Joins, and returns the participant's token. */
  async join(name: string, invitation: string | undefined): Promise<string> {
    const body = invitation === undefined ? { name } : { name, invitation };
    const { token } = (await this.#json("POST", "/join", body)) as { token: string };
    this.#token = token;
    return token;
  }

  /** Takes the lease. */
  async lease(): Promise<PageLease> {
    return (await this.#json("POST", "/lease")) as PageLease;
  }

  /** Downloads the present key to the front of memory that workers share. */
  async download(memory: SharedArrayBuffer, bytes: number, onProgress: (share: number) => void): Promise<void> {
    const target = new Uint8Array(memory, 0, bytes);
    let at = 0;
    await this.#retried(async () => {
      const stalled = new AbortController();
      let timer = setTimeout(() => stalled.abort(), STALLED_MS);
      try {
        const headers: Record<string, string> = at === 0 ? {} : { range: `bytes=${at}-` };
        const answer = await this.#request("GET", "/key", { headers, signal: stalled.signal });
        // A server that does not know ranges sends all of it.
        if (answer.status !== 206) at = 0;
        for (const reader = answer.body?.getReader(); reader !== undefined;) {
          const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
          if (done) break;
          if (value === undefined) continue;
          if (at + value.length > bytes) throw new Refusal("too_long", "the key is longer than the server said");
          target.set(value, at);
          at += value.length;
          onProgress(at / bytes);
          clearTimeout(timer);
          timer = setTimeout(() => stalled.abort(), STALLED_MS);
        }
      } finally {
        clearTimeout(timer);
      }
      if (at !== bytes) throw new Error("the download broke off");
    });
  }

  /**
   * Uploads the new key in parts, from its beginning: what came before this contribution was of another one. A part of
   * which no answer came is looked for, and sent again if it is not there.
   */
  async upload(
    memory: SharedArrayBuffer,
    bytes: number,
    onProgress: (share: number) => void,
  ): Promise<PageContribution> {
    for (let from = 0, setbacks = 0; setbacks <= SETBACKS_MAX;) {
      if (from >= bytes) throw new Error("the server has the whole key and did not take it: load the page again");
      const taken = await this.#sendPart(memory, { from, bytes });
      if ("hash" in taken) return taken;
      if (taken.received <= from) setbacks += 1;
      from = taken.received;
      onProgress(from / bytes);
    }
    throw new Error("the server keeps losing what has come: tell its operator");
  }

  async #sendPart(
    memory: SharedArrayBuffer,
    { from, bytes }: { readonly from: number; readonly bytes: number },
  ): Promise<PageContribution | { readonly received: number }> {
    let isLost = false;
    return await this.#retried(async () => {
      const known = isLost ? await this.#progressOf() : undefined;
      if (known !== undefined && ("hash" in known || known.received !== from)) return known;
      // A request takes no shared memory.
      const part = Uint8Array.from(new Uint8Array(memory, from, Math.min(PART_BYTES, bytes - from)));
      const headers = {
        "content-type": "application/octet-stream",
        "content-range": `bytes ${from}-${from + part.length - 1}/${bytes}`,
      };
      try {
        const signal = AbortSignal.timeout(UPLOAD_MS);
        const answer = await this.#request("PUT", "/contribution", { headers, body: part, signal });
        return (await answer.json()) as PageContribution | { received: number };
      } catch (error) {
        if (error instanceof Refusal && error.code === "upload_out_of_order") return await this.#progressOf();
        // The server may not have noticed yet that the first connection is gone.
        if (isLost && error instanceof Refusal && error.code === "conflict") throw new Error(error.message);
        isLost = true;
        throw error;
      }
    });
  }

  /** What the server has of this participant: the contribution, or how much of its upload. */
  async #progressOf(): Promise<PageContribution | { readonly received: number }> {
    const { you, contributions } = await this.show();
    const own = contributions.find((each) => each.participant_id === you?.participant_id);
    return you?.state === "contributed" && own !== undefined ? own : { received: you?.received ?? 0 };
  }

  /** Sends the signature of a contribution. */
  async sign(index: number, statement: object): Promise<void> {
    await this.#json("POST", `/contributions/${index}/statement`, statement);
  }

  async #json(method: string, path: string, body?: object): Promise<unknown> {
    const sent =
      body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return await this.#retried(async () => {
      const answer = await this.#request(method, path, { ...sent, signal: AbortSignal.timeout(REQUEST_MS) });
      return await answer.json();
    });
  }

  async #retried<T>(work: () => Promise<T>): Promise<T> {
    return await retried(work, this.#onPause);
  }

  async #request(
    method: string,
    path: string,
    {
      headers = {},
      body,
      signal,
    }: { headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer>; signal: AbortSignal },
  ): Promise<Response> {
    const authorization = this.#token === undefined ? {} : { authorization: `bearer ${this.#token}` };
    const answer = await fetch(this.#url + path, {
      ...{ method, redirect: "error", credentials: "omit", headers: { ...headers, ...authorization }, signal },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.ok) return answer;
    const said = (await answer.json().catch(() => undefined)) as
      { errors?: { message?: string; code?: string }[] } | undefined;
    const { code = String(answer.status), message = `the server answered ${answer.status}` } = said?.errors?.[0] ?? {};
    const isPassing = answer.status >= 500 || answer.status === 429;
    throw isPassing ? new Error(message) : new Refusal(code, message.slice(0, ERROR_CHARACTERS_MAX));
  }
}
