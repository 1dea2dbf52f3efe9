/**
 * A rolling restart under load: two servers behind a proxy that asks for their readiness. Each is stopped and started
 * again while requests go on, and no request is refused or lost.
 */
import { createServer, request as sendTo, Agent, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { startServer, type TestServer } from "../../support/server.js";

/** Far longer than the proxy below takes to notice, also on a busy machine. */
const DELAY_SEC = 5;
const CHECK_EVERY_MS = 50;
const CLIENTS = 4;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A load balancer at its smallest: it sends each request once, to the next server that was ready when last asked. */
class Balancer {
  readonly ready = new Map<string, boolean>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  #checks: NodeJS.Timeout;
  #turn = 0;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const urls = [...this.ready].filter(([, isReady]) => isReady).map(([url]) => url);
      const target = urls[this.#turn++ % Math.max(1, urls.length)];
      if (target === undefined) {
        outgoing.writeHead(502).end("no server is ready");
        return;
      }
      const { method, url, headers } = incoming;
      const forwarded = sendTo(`${target}${url ?? "/"}`, { method, headers, agent: this.#agent }, (answer) => {
        const { connection: _, ...kept } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, kept);
        answer.pipe(outgoing);
      });
      forwarded.on("error", (error) => {
        outgoing.writeHead(502).end(error.message);
      });
      incoming.pipe(forwarded);
    });
    this.#checks = setInterval(() => {
      for (const url of this.ready.keys()) void this.#check(url);
    }, CHECK_EVERY_MS);
  }

  async #check(url: string): Promise<void> {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (this.ready.has(url)) this.ready.set(url, isReady);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#checks);
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function start(): Promise<TestServer> {
  const server = await startServer({ flags: [`--shutdown-delay=${String(DELAY_SEC)}`] });
  closing.push(async () => await server.dispose());
  return server;
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 20 }).toBe(true);
}

interface Outcome {
  readonly status: number;
  readonly text: string;
}

/** Sends one request, on a connection that the client keeps. */
async function ask(url: string, agent: Agent): Promise<Outcome> {
  return await new Promise((resolve) => {
    const sent = sendTo(`${url}/.well-known/openid-configuration`, { agent }, (answer: IncomingMessage) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
      answer.on("error", (error) => {
        resolve({ status: 0, text: error.message });
      });
      answer.on("end", () => {
        resolve({ status: answer.statusCode ?? 0, text });
      });
    });
    sent.on("error", (error) => {
      resolve({ status: 0, text: error.message });
    });
    sent.end();
  });
}

it("refuses and loses nothing while one server after the other restarts under load", async () => {
  const balancer = new Balancer();
  closing.push(async () => {
    await balancer.close();
  });
  const url = await balancer.listen();
  const servers = await Promise.all([start(), start()]);
  for (const server of servers) balancer.ready.set(server.url, false);
  await until(() => [...balancer.ready.values()].every(Boolean));

  const outcomes: Outcome[] = [];
  let goesOn = true;
  const clients = Array.from({ length: CLIENTS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (goesOn) outcomes.push(await ask(url, agent));
    agent.destroy();
  });
  const served = async (): Promise<void> => {
    const wanted = outcomes.length + 20;
    await until(() => outcomes.length >= wanted);
  };
  await served();
  for (const old of servers) {
    const ended = old.end("SIGTERM");
    await until(() => balancer.ready.get(old.url) === false);
    await served();
    expect(await ended).toBe(0);
    balancer.ready.delete(old.url);
    const next = await start();
    balancer.ready.set(next.url, false);
    await until(() => balancer.ready.get(next.url) === true);
    await served();
  }
  goesOn = false;
  await Promise.all(clients);
  expect(outcomes.filter(({ status }) => status !== 200)).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(100);
});

it("still answers, and says that it is not ready, between the signal and the end of its listener", async () => {
  const server = await start();
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  const ended = server.end("SIGTERM");
  let readiness = await fetch(`${server.url}/readyz`);
  while (readiness.status === 200) readiness = await fetch(`${server.url}/readyz`);
  expect(readiness.status).toBe(503);
  expect(await readiness.json()).toMatchObject({ ready: false, checks: [{ name: "staying", ok: false }, {}, {}] });
  const answer = await fetch(`${server.url}/.well-known/openid-configuration`);
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  expect(await ended).toBe(0);
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
});
