/**
 * Readers of event streams for tests: SSE through fetch, WebSocket through ws. They collect what comes, and wait for it
 * without sleeping.
 */
import WebSocket from "ws";

export interface Message {
  readonly id?: number;
  readonly type?: string;
  readonly reason?: string;
  readonly subject?: string;
  readonly payload?: unknown;
}

export interface StreamReader {
  readonly messages: Message[];
  /** What is about events, not about the stream. */
  readonly events: () => Message[];
  /** Resolves when the condition holds of what has come; rejects when the stream ended before. */
  until(condition: (reader: StreamReader) => boolean): Promise<void>;
  /** Resolves when the stream is over; the close code of a WebSocket. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

class Collector {
  readonly messages: Message[] = [];
  readonly #waiting = new Set<() => void>();
  isOver = false;

  add(message: Message): void {
    this.messages.push(message);
    this.tell();
  }

  tell(): void {
    for (const look of [...this.#waiting]) look();
  }

  reader(parts: { close: () => void; ended: StreamReader["ended"] }): StreamReader {
    const reader: StreamReader = {
      messages: this.messages,
      ...parts,
      events: () => this.messages.filter(({ type }) => type === undefined),
      until: async (condition) =>
        await new Promise<void>((resolve, reject) => {
          const look = (): void => {
            if (!condition(reader) && !this.isOver) return;
            this.#waiting.delete(look);
            if (condition(reader)) resolve();
            else reject(new Error(`the stream ended after ${JSON.stringify(this.messages)}`));
          };
          this.#waiting.add(look);
          look();
        }),
    };
    return reader;
  }
}

export interface StreamRequest {
  readonly token: string;
  readonly subjects?: readonly string[];
  readonly lastEventId?: number;
}

function queryOf({ subjects = [] }: StreamRequest): string {
  return subjects.length === 0
    ? ""
    : `?${new URLSearchParams(subjects.map((name): [string, string] => ["subject", name])).toString()}`;
}

/** Rejects unless the answer is a stream. Resolves once it is `ready`. */
export async function openSse(url: string, request: StreamRequest): Promise<StreamReader> {
  const abort = new AbortController();
  const response = await fetch(`${url}/api/v1/events${queryOf(request)}`, {
    signal: abort.signal,
    headers: {
      authorization: `bearer ${request.token}`,
      ...(request.lastEventId === undefined ? {} : { "last-event-id": String(request.lastEventId) }),
    },
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`${String(response.status)} ${await response.text()}`);
  const collector = new Collector();
  const ended = readBlocks(response.body, collector);
  const reader = collector.reader({
    close: () => {
      abort.abort();
    },
    ended,
  });
  await reader.until(({ messages }) => messages.some(({ type }) => type === "ready"));
  return reader;
}

async function readBlocks(
  body: ReadableStream<Uint8Array>,
  collector: Collector,
): Promise<{ code: number; reason: string }> {
  let text = "";
  let reason = "";
  try {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        const message = JSON.parse(data) as Message;
        if (message.type === "end") reason = message.reason ?? "";
        collector.add(message);
      }
    }
  } catch {
    reason ||= "cut off";
  }
  collector.isOver = true;
  collector.tell();
  return { code: 0, reason };
}

/** @param how where the token goes; resolves once the stream is `ready`, rejects when it is refused or closed before */
export async function openSocket(
  url: string,
  request: StreamRequest,
  how: "header" | "protocol" | "message" = "header",
): Promise<StreamReader & { readonly socket: WebSocket }> {
  const address = `${url.replace(/^http/, "ws")}/api/v1/events${how === "message" ? "" : queryOf(request)}${request.lastEventId === undefined || how === "message" ? "" : `${queryOf(request) === "" ? "?" : "&"}last_event_id=${String(request.lastEventId)}`}`;
  const socket =
    how === "protocol"
      ? new WebSocket(address, ["proofwright.events.v1", `bearer.${request.token}`])
      : new WebSocket(address, how === "header" ? { headers: { authorization: `bearer ${request.token}` } } : {});
  const collector = new Collector();
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => {
      collector.isOver = true;
      collector.tell();
      resolve({ code, reason: reason.toString("utf8") });
    });
  });
  socket.on("message", (data: Buffer) => {
    collector.add(JSON.parse(data.toString("utf8")) as Message);
  });
  if (how === "message")
    socket.on("open", () => {
      socket.send(
        JSON.stringify({
          token: request.token,
          ...(request.subjects === undefined ? {} : { subject: request.subjects }),
          ...(request.lastEventId === undefined ? {} : { last_event_id: request.lastEventId }),
        }),
      );
    });
  const reader = collector.reader({
    close: () => {
      socket.close();
    },
    ended,
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    reader
      .until(({ messages }) => messages.some(({ type }) => type === "ready"))
      .then(resolve, () => {
        void ended.then(({ code, reason }) => {
          reject(new Error(`closed ${String(code)} ${reason}`));
        });
      });
  });
  return Object.assign(reader, { socket });
}
