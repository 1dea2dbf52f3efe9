/** The page's requests to its own server, as a participant of one ceremony. */
import { browser } from "./browser-scope.js";

export interface PageCeremony {
  readonly state: string;
  readonly accepts: boolean;
  readonly circuit: { readonly identifier: string; readonly hash: string | null };
  readonly contributions: readonly { readonly index: number; readonly name: string; readonly hash: string }[];
  readonly queue: readonly unknown[];
  readonly you: { readonly state: string; readonly position: number | null; readonly received: number } | null;
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
const ERROR_CHARACTERS_MAX = 500;

export class CeremonyClient {
  readonly #url: string;
  #token: string | undefined;

  constructor(id: string, token: string | undefined) {
    this.#url = new URL(`api/v1/ceremonies/${id}`, browser.location.href).href;
    this.#token = token;
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

  /** Downloads the present key into memory that workers share. */
  async download(bytes: number, onProgress: (share: number) => void): Promise<SharedArrayBuffer> {
    const memory = new SharedArrayBuffer(bytes);
    const target = new Uint8Array(memory);
    const answer = await this.#request("GET", "/key", {});
    let at = 0;
    for (const reader = answer.body?.getReader(); reader !== undefined;) {
      const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (done) break;
      if (value === undefined) continue;
      if (at + value.length > bytes) throw new Error("the key is longer than the server said");
      target.set(value, at);
      at += value.length;
      onProgress(at / bytes);
    }
    if (at !== bytes) throw new Error("the key is shorter than the server said");
    return memory;
  }

  /** Uploads the new key in parts. */
  async upload(
    memory: SharedArrayBuffer,
    bytes: number,
    onProgress: (share: number) => void,
  ): Promise<PageContribution> {
    for (let from = (await this.show()).you?.received ?? 0; ;) {
      if (from >= bytes) throw new Error("the server has the whole key and did not take it: load the page again");
      // A request takes no shared memory.
      const part = Uint8Array.from(new Uint8Array(memory, from, Math.min(PART_BYTES, bytes - from)));
      const headers = {
        "content-type": "application/octet-stream",
        "content-range": `bytes ${from}-${from + part.length - 1}/${bytes}`,
      };
      const answer = await this.#request("PUT", "/contribution", { headers, body: part });
      const taken = (await answer.json()) as PageContribution | { received: number };
      if ("hash" in taken) return taken;
      from = taken.received;
      onProgress(from / bytes);
    }
  }

  /** Sends the signature of a contribution. */
  async sign(index: number, statement: object): Promise<void> {
    await this.#json("POST", `/contributions/${index}/statement`, statement);
  }

  async #json(method: string, path: string, body?: object): Promise<unknown> {
    const sent =
      body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await this.#request(method, path, sent);
    return await answer.json();
  }

  async #request(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> },
  ): Promise<Response> {
    const authorization = this.#token === undefined ? {} : { authorization: `bearer ${this.#token}` };
    const answer = await fetch(this.#url + path, {
      ...{ method, redirect: "error", credentials: "omit", headers: { ...headers, ...authorization } },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.ok) return answer;
    const said = (await answer.json().catch(() => undefined)) as { errors?: { message?: string }[] } | undefined;
    const message = said?.errors?.[0]?.message ?? `the server answered ${answer.status}`;
    throw new Error(message.slice(0, ERROR_CHARACTERS_MAX));
  }
}
