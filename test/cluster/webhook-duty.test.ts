/** Messages of webhooks while the node that sends them is killed, or sealed: each arrives, and a repeat says that it is one. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import type { TestServer } from "../support/server.js";

/** One of the networks that everybody sees. */
const NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const DUTY = "webhooks";
/** A node that gives no sign is given up after 15 seconds; the rest is starts of servers. */
const TIMEOUT_MS = 90_000;
/** Messages that are sent to one webhook at a time. */
const IN_FLIGHT = 4;
/** Connectors at a time; each has two events. */
const BURST = 5;

interface Message {
  readonly id: string;
  /** `<connector> <status>`. */
  readonly text: string;
}

let cluster: TestCluster;
let receiver: Server;
const received: Message[] = [];
/** While true, what comes is kept without an answer. */
let isSilent = false;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  cluster = await TestCluster.make();
  receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { data } = JSON.parse(body) as { data: { payload: { id: string; status: string } } };
      received.push({ id: String(request.headers["webhook-id"]), text: `${data.payload.id} ${data.payload.status}` });
      if (!isSilent) response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  env = { PROOFWRIGHT_EGRESS_ALLOW: `127.0.0.1:${String(port)}` };
});
afterAll(async () => {
  await cluster.dispose();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

/** Starts a node that sends the messages, and one that would. */
async function start(): Promise<readonly [sends: TestServer, waits: TestServer]> {
  const sends = await cluster.start("sends", env);
  const waits = await cluster.start("waits", env);
  await untilSentBy("sends");
  return [sends, waits];
}

async function untilSentBy(name: string): Promise<void> {
  await eventually(async () => {
    expect(await cluster.dutiesOf(name)).toContain(DUTY);
  });
}

/** An application with a webhook. Returns its token. */
async function newListener(server: TestServer): Promise<string> {
  const { api } = await server.newUser();
  const application_id = (await api.createApplication({ body: {} })).body.id;
  const token = (await api.createToken({ body: { application_id } })).body.access_token;
  const { port } = receiver.address() as AddressInfo;
  await server.as(token).createWebhook({ body: { url: `http://127.0.0.1:${String(port)}/`, types: ["connector.*"] } });
  return token;
}

/** Makes connectors that are provisioned at once. Returns the events that come of it. */
async function makeEvents(server: TestServer, token: string): Promise<string[]> {
  const body = { name: "c", network_id: NETWORK, type: "ipfs", config: {}, is_virtual: true } as const;
  const texts: string[] = [];
  for (let made = 0; made < BURST; made += 1) {
    const { id } = (await server.as(token).createConnector({ body })).body;
    texts.push(`${id} init`, `${id} active`);
  }
  return texts;
}

async function arrive(texts: readonly string[]): Promise<void> {
  await eventually(() => {
    const have = new Set(received.map(({ text }) => text));
    expect(texts.filter((text) => !have.has(text))).toEqual([]);
  });
}

/** The ids of the messages that each event had; one for each, however often it came. */
function idsOf(texts: readonly string[]): string[][] {
  return texts.map((wanted) => [...new Set(received.filter(({ text }) => text === wanted).map(({ id }) => id))]);
}

/** Waits until the outcome of every message is recorded. */
async function settle(server: TestServer, token: string): Promise<void> {
  const api = server.as(token);
  const [webhook] = (await api.listWebhooks({})).body;
  await eventually(async () => {
    const query = { state: "pending", rpp: 1 } as const;
    expect((await api.listWebhookDeliveries({ params: { id: webhook!.id }, query })).total).toBe(0);
  });
}

it(
  "arrive over another node when the one that sends is killed, also those of events while nobody sends",
  async () => {
    const [sends, waits] = await start();
    const token = await newListener(sends);
    isSilent = true;
    const before = await makeEvents(waits, token);
    await eventually(() => {
      expect(received.length).toBe(IN_FLIGHT);
    });
    await sends.end("SIGKILL");
    const cutOff = received.map(({ text }) => text);
    isSilent = false;
    const after = await makeEvents(waits, token);
    await arrive([...before, ...after]);
    await untilSentBy("waits");
    await settle(waits, token);
    expect(idsOf([...before, ...after]).map((ids) => ids.length)).toEqual(Array<number>(4 * BURST).fill(1));
    for (const text of cutOff) expect(received.filter((message) => message.text === text)).toHaveLength(2);
    expect(received).toHaveLength(4 * BURST + IN_FLIGHT);
    await waits.end("SIGTERM");
  },
  TIMEOUT_MS,
);

it(
  "arrive over an unsealed node when the one that sends is sealed, with the same id where one was being sent",
  async () => {
    const [sends, waits] = await start();
    const token = await newListener(waits);
    const key = { token: (await waits.newUser()).token, body: { body: { key: cluster.phrase } } };
    received.length = 0;
    isSilent = true;
    const before = await makeEvents(waits, token);
    await eventually(() => {
      expect(received.length).toBe(IN_FLIGHT);
    });
    await sends.as(key.token).seal(key.body);
    const cutOff = received.map(({ text }) => text);
    const sealed = await makeEvents(sends, token);
    isSilent = false;
    await waits.as(key.token).unseal(key.body);
    await arrive([...before, ...sealed]);
    await settle(waits, token);
    await untilSentBy("waits");
    expect(idsOf([...before, ...sealed]).map((ids) => ids.length)).toEqual(Array<number>(4 * BURST).fill(1));
    for (const text of cutOff) expect(received.filter((message) => message.text === text)).toHaveLength(2);
    await Promise.all([sends.end("SIGTERM"), waits.end("SIGTERM")]);
  },
  TIMEOUT_MS,
);
