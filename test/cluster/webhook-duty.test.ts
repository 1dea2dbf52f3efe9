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
  const made = await Promise.all(Array.from({ length: BURST }, () => server.as(token).createConnector({ body })));
  return made.flatMap(({ body: { id } }) => [`${id} init`, `${id} active`]);
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

/**
 * Waits until the outcome of every message is recorded, and expects that each came as often as attempts are recorded, and
 * once more where its node ended in an attempt. A busy machine may let attempts run out before that; these are recorded.
 */
async function expectRepeatsOfCutOff(server: TestServer, token: string): Promise<void> {
  const api = server.as(token);
  const [webhook] = (await api.listWebhooks({})).body;
  const params = { id: webhook!.id };
  await eventually(async () => {
    expect((await api.listWebhookDeliveries({ params, query: { state: "pending", rpp: 1 } })).total).toBe(0);
  });
  const deliveries = (await api.listWebhookDeliveries({ params, query: { rpp: 100 } })).body;
  expect(deliveries).toHaveLength(4 * BURST);
  const unrecorded = deliveries.map(
    ({ id, attempts }) => received.filter((message) => message.id === `msg_${id}`).length - attempts.length,
  );
  expect(new Set(unrecorded)).toEqual(new Set([0, 1]));
  expect(unrecorded.filter((count) => count === 1).length).toBeLessThanOrEqual(IN_FLIGHT);
}

it("arrive over another node when the one that sends is killed, also those of events while nobody sends", async () => {
  const [sends, waits] = await start();
  const token = await newListener(sends);
  isSilent = true;
  const before = await makeEvents(waits, token);
  await eventually(() => {
    expect(received.length).toBeGreaterThanOrEqual(IN_FLIGHT);
  });
  await sends.end("SIGKILL");
  isSilent = false;
  const after = await makeEvents(waits, token);
  await arrive([...before, ...after]);
  await untilSentBy("waits");
  await expectRepeatsOfCutOff(waits, token);
  expect(idsOf([...before, ...after]).map((ids) => ids.length)).toEqual(Array<number>(4 * BURST).fill(1));
  await waits.end("SIGTERM");
});

it("arrive over an unsealed node when the one that sends is sealed, with the same id where one was being sent", async () => {
  const [sends, waits] = await start();
  const token = await newListener(waits);
  const key = { token: (await waits.newUser()).token, body: { body: { key: cluster.phrase } } };
  received.length = 0;
  isSilent = true;
  const before = await makeEvents(waits, token);
  await eventually(() => {
    expect(received.length).toBeGreaterThanOrEqual(IN_FLIGHT);
  });
  await sends.as(key.token).seal(key.body);
  const sealed = await makeEvents(sends, token);
  isSilent = false;
  await waits.as(key.token).unseal(key.body);
  await arrive([...before, ...sealed]);
  await untilSentBy("waits");
  await expectRepeatsOfCutOff(waits, token);
  expect(idsOf([...before, ...sealed]).map((ids) => ids.length)).toEqual(Array<number>(4 * BURST).fill(1));
  await Promise.all([sends.end("SIGTERM"), waits.end("SIGTERM")]);
});
