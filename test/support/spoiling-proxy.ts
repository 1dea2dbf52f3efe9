/**
 * A JSON-RPC proxy between a client and a node that is as bad as the worst: it answers 500, internal errors, garbage or
 * nothing, before or after the node has the request, passes requests on late, twice or never. What is not of the `eth`
 * methods passes untouched. Everything is drawn from a seeded generator.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SeededRandom } from "./seeded.js";

export interface SpoilingProxy {
  readonly url: string;
  /** How often each happened, by name. */
  readonly figures: Readonly<Record<string, number>>;
  /** From now on everything passes. */
  heal(): void;
  stop(): Promise<void>;
}

interface Call {
  readonly id: number;
  readonly method: string;
}
type Body = Call | readonly Call[];
type Forward = () => Promise<string>;
interface Answer {
  readonly status?: number;
  readonly text: string;
}
/** Returns the answer, or undefined to close the connection. */
type Spoil = (body: Body, forward: Forward) => Promise<Answer | undefined>;

const LATE_MS_MAX = 700;
const PASSED_OF_100 = 75;

/** Starts a proxy to a node's URL. */
export async function startSpoilingProxy(nodeUrl: string, random: SeededRandom): Promise<SpoilingProxy> {
  const figures: Record<string, number> = {};
  const late: Promise<unknown>[] = [];
  let isHealed = false;
  const later = (forward: Forward): void => {
    late.push(
      pause(random.below(LATE_MS_MAX))
        .then(forward)
        .catch(() => undefined),
    );
  };
  const spoils: Readonly<Record<string, Spoil>> = {
    "500 before": () => Promise.resolve({ status: 500, text: "{}" }),
    "500 after": async (body, forward) => {
      await forward();
      return { status: 503, text: errorText(body, -32_000, "upstream failed") };
    },
    "-32603 before": (body) => Promise.resolve({ text: errorText(body, -32_603, "Internal error") }),
    "-32603 after": async (body, forward) => {
      await forward();
      return { text: errorText(body, -32_603, "Internal error") };
    },
    "-32000 after": async (body, forward) => {
      await forward();
      return { text: errorText(body, -32_000, "something went wrong") };
    },
    "garbage before": () => Promise.resolve({ text: "<html>" }),
    "garbage after": async (_body, forward) => {
      await forward();
      return { text: "}{" };
    },
    "closed before": () => Promise.resolve(undefined),
    "closed after": async (_body, forward) => {
      await forward();
      return undefined;
    },
    "answered late": async (_body, forward) => {
      const text = await forward();
      await pause(random.below(LATE_MS_MAX));
      return { text };
    },
    "passed on late": (body, forward) => {
      later(forward);
      return Promise.resolve({ text: errorText(body, -32_603, "Internal error") });
    },
    twice: async (_body, forward) => {
      const first = await forward();
      const second = await forward();
      return { text: random.below(2) === 0 ? first : second };
    },
    "twice, the second late": async (_body, forward) => {
      later(forward);
      return { text: await forward() };
    },
  };
  const names = Object.keys(spoils);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const body = JSON.parse(text) as Body;
    const forward: Forward = async () => await send(nodeUrl, text);
    const isSpoilt = !isHealed && isOfEth(body) && random.below(100) >= PASSED_OF_100;
    const name = isSpoilt ? (names[random.below(names.length)] ?? "") : "passed";
    figures[name] = (figures[name] ?? 0) + 1;
    const answer: Answer | undefined = await (spoils[name] ?? pass)(body, forward);
    if (answer === undefined) request.socket.destroy();
    else response.writeHead(answer.status ?? 200, { "content-type": "application/json" }).end(answer.text);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => {
      request.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    figures,
    heal: () => {
      isHealed = true;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await Promise.all(late);
    },
  };
}

async function pass(_body: Body, forward: Forward): Promise<Answer> {
  return { text: await forward() };
}

function isOfEth(body: Body): boolean {
  return (Array.isArray(body) ? (body as readonly Call[]) : [body as Call]).every(({ method }) =>
    method.startsWith("eth_"),
  );
}

function errorText(body: Body, code: number, message: string): string {
  const of = ({ id }: Call): object => ({ jsonrpc: "2.0", id, error: { code, message } });
  return JSON.stringify(Array.isArray(body) ? (body as readonly Call[]).map(of) : of(body as Call));
}

async function send(url: string, text: string): Promise<string> {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: text });
  return await response.text();
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
