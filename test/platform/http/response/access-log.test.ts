/** The access log: a line for each request where the operator wants it, which quotes nothing that a client sent. */
import { expect, it } from "vitest";
import { BEARER, startFront, until } from "../support.js";

it("has a line for each request, with its route, status, subject and address, and not its path", async () => {
  const front = await startFront({ server: { isAccessLogged: true } });
  await fetch(`${front.url}/api/v1/things`, { headers: BEARER });
  await fetch(`${front.url}/zoo/here?secret=zoo`, { headers: { "X-Request-Id": "mine-1" } });
  const requests = (): unknown[] => front.logged.filter(({ message }) => message === "request");
  await until(() => requests().length === 2);
  expect(requests()).toMatchObject([
    { level: "info", fields: { method: "GET", status: 200, subject: expect.stringMatching(/^user:/) as string } },
    { level: "info", fields: { route: "none", status: 404, request_id: "mine-1", address: "127.0.0.1" } },
  ]);
  expect(JSON.stringify(front.logged)).not.toContain("zoo");
  await front.server.stop({ graceMs: 0 });
});

it("is off unless it is asked for", async () => {
  const front = await startFront();
  await fetch(`${front.url}/api/v1/things`, { headers: BEARER });
  await until(() => front.ended.length === 1);
  expect(front.logged.filter(({ level }) => level !== "debug")).toEqual([]);
  expect(JSON.stringify(front.logged)).not.toContain("127.0.0.1");
  await front.server.stop({ graceMs: 0 });
});
