/** The probes of mongodb and elasticsearch: what they say of a peer is what they saw. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, startBabbler } from "../../support/line-doubles.js";
import { detail, openConnectors, settled, type Draft, type TestConnectors } from "./support.js";

const stops: (() => Promise<void>)[] = [];
let test: TestConnectors;

beforeAll(async () => {
  test = await openConnectors();
});
afterAll(async () => {
  await test.close();
  for (const stop of stops) await stop();
});

async function probed(draft: Draft): Promise<unknown[]> {
  const made = await settled(test, draft);
  const { details } = await detail(test, made.id);
  return [made.status, made.errors[0]?.code, details?.probe?.peer];
}

/** One OP_MSG with the elements of a BSON document. */
function answer(elements: Buffer, { opCode = 2013, responseTo = 1 } = {}): Buffer {
  const document = Buffer.concat([int32(elements.length + 5), elements, Buffer.from([0])]);
  const head = [21 + document.length, 7, responseTo, opCode, 0].map(int32);
  return Buffer.concat([...head, Buffer.from([0]), document]);
}
function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
function element(type: number, name: string, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), Buffer.from(`${name}\0`), value]);
}
const text = (value: string): Buffer => Buffer.concat([int32(value.length + 1), Buffer.from(`${value}\0`)]);
const one = Buffer.alloc(8);
one.writeDoubleLE(1);
/** As mongod 7 answers: members of many types before those that matter. */
const HELLO = [
  element(0x08, "isWritablePrimary", Buffer.from([1])),
  element(
    0x03,
    "topologyVersion",
    Buffer.concat([int32(28), element(0x07, "processId", Buffer.alloc(12)), Buffer.alloc(1)]),
  ),
  element(0x10, "maxBsonObjectSize", int32(16_777_216)),
  element(0x09, "localTime", Buffer.alloc(8)),
  element(0x10, "minWireVersion", int32(0)),
  element(0x10, "maxWireVersion", int32(21)),
];
const OK = element(0x01, "ok", one);

async function mongo(reply: Buffer): Promise<{ readonly port: number; readonly received: Buffer[] }> {
  const received: Buffer[] = [];
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes: Buffer) => {
      received.push(bytes);
      // In two parts, as a network may deliver it.
      socket.write(reply.subarray(0, 20));
      setImmediate(() => socket.write(reply.subarray(20)));
    });
  });
  return { port: await listening(server), received };
}

async function elastic(status: number, body: string): Promise<number> {
  return await listening(
    createServer((_request, response) => {
      response.writeHead(status, { "content-type": "application/json", server: "a web server" }).end(body);
    }),
  );
}

async function listening(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  stops.push(async () => {
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describe("the probe of mongodb", () => {
  it.each([
    ["mongod", HELLO, "mongod, wire version 21 (not logged in)"],
    ["mongos", [...HELLO, element(0x02, "msg", text("isdbgrid"))], "mongos, wire version 21 (not logged in)"],
  ])("asks %s what it is", async (_name, members, peer) => {
    const { port, received } = await mongo(answer(Buffer.concat([...members, OK])));
    const draft = { type: "mongodb", config: { api_url: `mongodb://127.0.0.1:${String(port)}` } };
    expect(await probed(draft)).toEqual(["available", undefined, peer]);
    // {hello: 1, $db: "admin"} in one OP_MSG.
    expect(received[0]?.toString("hex")).toBe(
      [
        "340000000100000000000000dd070000",
        "0000000000",
        "1f000000",
        "1068656c6c6f0001000000",
        "02246462000600000061646d696e00",
        "00",
      ].join(""),
    );
  });

  it.each([
    ["an error", answer(Buffer.concat([element(0x01, "ok", Buffer.alloc(8))]))],
    ["no version", answer(OK)],
    ["the answer to another question", answer(Buffer.concat([...HELLO, OK]), { responseTo: 9 })],
    ["another operation", answer(Buffer.concat([...HELLO, OK]), { opCode: 1 })],
    ["a value of an unknown type", answer(Buffer.concat([element(0x7f, "x", int32(1)), ...HELLO, OK]))],
    ["a length that is negative", answer(element(0x02, "x", int32(-5)))],
    ["a document that is cut", answer(Buffer.from([0x10, 0x61]))],
    ["a message that is too long", Buffer.concat([int32(2 ** 30), int32(1), int32(1), int32(2013), Buffer.alloc(8)])],
  ])("is not content with %s", async (_name, reply) => {
    const { port } = await mongo(reply);
    expect(await probed({ type: "mongodb", config: { host: "127.0.0.1", port } })).toEqual([
      "unavailable",
      "connector_answer_invalid",
      null,
    ]);
  });

  it("is not content with another protocol, or with nobody", async () => {
    const babbler = await startBabbler("220 mail.example.com ESMTP ready for you\r\n");
    stops.push(() => babbler.stop());
    for (const [port, code] of [
      [babbler.port, "connector_answer_invalid"],
      [await freePort(), "connector_unreachable"],
    ] as const)
      expect(await probed({ type: "mongodb", config: { host: "127.0.0.1", port } })).toEqual([
        "unavailable",
        code,
        null,
      ]);
  });
});

describe("the probe of elasticsearch", () => {
  it.each([
    ["Elasticsearch", { version: { number: "8.15.1" } }, "elasticsearch 8.15.1"],
    ["OpenSearch", { version: { number: "2.17.0", distribution: "opensearch" } }, "opensearch 2.17.0"],
  ])("reads the version of %s", async (_name, root, peer) => {
    const port = await elastic(200, JSON.stringify({ name: "n", cluster_name: "c", ...root }));
    const draft = { type: "elasticsearch", config: { host: "127.0.0.1", port } };
    expect(await probed(draft)).toEqual(["available", undefined, peer]);
  });

  it.each([
    ["another web server", 200, "<html></html>", "connector_answer_invalid"],
    ["JSON of something else", 200, `{"version":"8"}`, "connector_answer_invalid"],
    ["a login that fails", 401, "{}", "connector_refused"],
    ["a server in trouble", 503, "{}", "connector_unreachable"],
  ])("is not content with %s", async (_name, status, body, code) => {
    const port = await elastic(status, body);
    expect(await probed({ type: "elasticsearch", config: { host: "127.0.0.1", port } })).toEqual([
      "unavailable",
      code,
      null,
    ]);
  });

  it("takes any web server as alive at a path that the connector names", async () => {
    const port = await elastic(404, "{}");
    const config = { host: "127.0.0.1", port, probe_path: "/_cluster/health" };
    expect(await probed({ type: "elasticsearch", config })).toEqual(["available", undefined, "a web server"]);
  });
});
