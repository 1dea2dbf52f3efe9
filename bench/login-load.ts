/**
 * A thousand clients that log in, as a process of their own: each from one of many loopback addresses, each with an
 * address of its own that has no account (the same work as one that has), each again as soon as it is answered.
 * Arguments: URL, seconds. Prints a line once all have sent their first, and the answers' statuses as JSON.
 */
import { randomUUID } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";

const CLIENTS = 1000;
/** So many that the limit per network address is not what turns the logins away. */
const ADDRESSES = 250;
const RETRY_AFTER_MS = 1000;

const [url = "", seconds = "10"] = process.argv.slice(2);
const endsAtMs = performance.now() + Number(seconds) * 1000;
const statuses: Record<string, number> = {};
/** Clients that have sent a first one. */
const begun = new Set<number>();

async function logIn(agent: Agent, localAddress: string, onSent: () => void): Promise<number> {
  const body = JSON.stringify({ email: `${randomUUID()}@example.com`, password: "only for measuring 1" });
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      `${url}/api/v1/authenticate`,
      {
        method: "POST",
        agent,
        localAddress,
        headers: { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
      },
      (incoming) => {
        incoming.resume();
        incoming.once("end", () => {
          resolve(incoming.statusCode ?? 0);
        });
      },
    );
    outgoing.once("error", reject);
    outgoing.once("finish", onSent);
    outgoing.end(body);
  });
}

function noteBegun(index: number): void {
  if (begun.has(index)) return;
  begun.add(index);
  if (begun.size === CLIENTS) process.stdout.write("all in flight\n");
}

async function client(index: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < endsAtMs) {
    const status = await logIn(
      agent,
      `127.0.${String(1 + Math.floor(index / CLIENTS))}.${String(2 + (index % ADDRESSES))}`,
      () => {
        noteBegun(index);
      },
    );
    statuses[String(status)] = (statuses[String(status)] ?? 0) + 1;
    // Whoever is turned away comes again when Retry-After says.
    if (status === 429)
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_AFTER_MS);
      });
  }
  agent.destroy();
}

await Promise.all(
  Array.from({ length: CLIENTS }, async (_, index) => {
    await client(index);
  }),
);
process.stdout.write(`${JSON.stringify(statuses)}\n`);
