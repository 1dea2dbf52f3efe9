/** What the SDK makes of answers that no Proofwright server gives: over real sockets and the real `fetch`. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Proofwright } from "../../src/sdk/proofwright.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const ID = "6f1d3c1e-3b1f-4c43-9f0a-5b5a5d0b2c11";
const EVENT = `id: 4\ndata: ${JSON.stringify({ id: 4, subject: "prover.x", created_at: "now", payload: {} })}\n\n`;

let server: Server;
let elsewhere: Server;
let asked: string[];
let reached: string[];
let answer: Answer;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${String(request.method)} ${String(request.url)}`);
    request.resume().on("end", () => answer(request, response));
  });
  elsewhere = createServer((request, response) => {
    reached.push(`${String(request.method)} ${String(request.headers.authorization)}`);
    response.end("{}");
  });
  for (const one of [server, elsewhere]) await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
});

beforeEach(() => {
  asked = [];
  reached = [];
});

afterAll(async () => {
  for (const one of [server, elsewhere]) await new Promise((resolve) => one.close(resolve));
});

const urlOf = (one: Server): string => `http://127.0.0.1:${String((one.address() as AddressInfo).port)}`;

function client(given: Answer): Proofwright {
  answer = given;
  return new Proofwright({ baseUrl: urlOf(server), token: "t", retries: 0 });
}

describe("a redirect", () => {
  it.each([301, 302, 303, 307, 308])("%i is not followed, and takes nothing along", async (status) => {
    const proofwright = client((_request, response) => {
      response.writeHead(status, { location: `${urlOf(elsewhere)}/api/v1/unseal` }).end();
    });
    for (const call of [() => proofwright.seal.unseal("twenty-four words"), () => proofwright.seal.status()])
      await expect(call()).rejects.toMatchObject({
        name: "ApiError",
        status,
        code: "redirected",
        message: expect.stringContaining(`redirects to ${urlOf(elsewhere)}`) as string,
      });
    expect(reached).toEqual([]);
    expect(asked).toHaveLength(2);
  });
});

describe("an id", () => {
  it.each([".", ".."])("%s is refused before it leads to another route", async (id) => {
    const proofwright = client((_request, response) => response.end("{}"));
    await expect(proofwright.secrets.delete(ID, id)).rejects.toThrow("must not be dots alone");
    await expect(proofwright.provers.get(id)).rejects.toThrow("must not be dots alone");
    expect(asked).toEqual([]);
  });
});

describe("an answer", () => {
  it("in OAuth's form of an error is told with its code and description", async () => {
    const refusal = { error: "invalid_client", error_description: "the client is not known" };
    for (const [body, message] of [
      [refusal, refusal.error_description],
      [{ error: "invalid_client" }, "invalid_client"],
    ] as const) {
      const failing = client((_request, response) => response.writeHead(400).end(JSON.stringify(body)));
      await expect(failing.provers.get(ID)).rejects.toMatchObject({ status: 400, code: "invalid_client", message });
    }
  });

  it("that is no JSON is told as such", async () => {
    const proofwright = client((_request, response) => response.end("<h1>Log in to the hotel's network</h1>"));
    await expect(proofwright.provers.get(ID)).rejects.toMatchObject({
      name: "ApiError",
      status: 200,
      code: "not_json",
    });
    await expect(proofwright.provers.list().page()).rejects.toMatchObject({ code: "not_json" });
  });

  it("that breaks off is told as such", async () => {
    const proofwright = client((_request, response) => {
      response.writeHead(200, { "content-length": "100" }).write('{"id":', () => response.destroy());
    });
    await expect(proofwright.provers.get(ID)).rejects.toMatchObject({ code: "connection_failed" });
    await expect(proofwright.provers.artifact(ID, "verifying_key.json")).rejects.toMatchObject({
      code: "connection_failed",
    });
  });
});

describe("a stream of events", () => {
  it("goes on after it broke off in the middle of an event", async () => {
    const proofwright = client((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (asked.length === 1) response.write(EVENT.slice(0, -1), () => response.destroy());
      else response.write(EVENT);
    });
    for await (const { id } of proofwright.events.stream({ lastEventId: 3 })) {
      expect(id).toBe(4);
      break;
    }
    expect(asked).toHaveLength(2);
  });

  it("leaves the exceptions of the caller's own functions to the caller", async () => {
    const proofwright = client((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: 7\nevent: gap\ndata: {}\n\n${EVENT}`);
    });
    const onGap = (): void => {
      throw new TypeError("a fault of the caller");
    };
    await expect(proofwright.events.stream({ lastEventId: 3, onGap }).next()).rejects.toThrow("a fault of the caller");
  });
});
