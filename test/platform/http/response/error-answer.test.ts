/** Failures over real sockets: handlers that throw, that are too late, and whose clients leave. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEARER, errorOf, startFront, until, type Front } from "../support.js";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
  await fetch(front.url + path, { headers: BEARER, ...init });

describe("handlers that fail", () => {
  it.each(["now", "later", "string"])(
    "answers 500 with nothing but the request id when one throws (%s)",
    async (how) => {
      front.logged.length = 0;
      const response = await send(`/api/v1/fail?how=${how}`, { headers: { ...BEARER, "X-Request-Id": "find-me" } });
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(text).toContain("find-me");
      expect(text).not.toContain("secret words");
      const line = front.logged.find(({ level }) => level === "error");
      expect(line?.fields).toMatchObject({ request_id: "find-me", route: "fail", status: 500, code: "internal_error" });
      expect(JSON.stringify(front.logged)).not.toContain("secret words");
    },
  );

  it("answers 502 when another system failed, which is no failure of its own in the log", async () => {
    front.logged.length = 0;
    const response = await send("/api/v1/fail?how=beyond");
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining("the node cannot be reached"),
    ]);
    await expect.poll(() => front.logged.length).toBeGreaterThan(1);
    expect(front.logged.every(({ level, fields }) => level === "debug" && fields?.stack === undefined)).toBe(true);
    expect(front.logged).toContainEqual(
      expect.objectContaining({
        message: "another system failed a request",
        fields: expect.objectContaining({ status: 502, code: "network_unreachable" }) as unknown,
      }),
    );
  });

  it("answers expected failures with their status and code", async () => {
    const response = await send("/api/v1/fail?how=app");
    expect(response.status).toBe(409);
    expect(await errorOf(response)).toEqual({
      message: "as it was to be",
      errors: [{ message: "as it was to be", code: "conflict" }],
    });
  });

  it("rounds Retry-After up", async () => {
    expect((await send("/api/v1/fail?how=busy")).headers.get("retry-after")).toBe("7");
  });

  it("answers problem details when asked for (RFC 9457)", async () => {
    const response = await send("/api/v1/fail?how=app", { headers: { ...BEARER, Accept: "application/problem+json" } });
    expect(response.headers.get("content-type")).toBe("application/problem+json; charset=UTF-8");
    expect(await errorOf(response)).toMatchObject({
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "as it was to be",
      message: "as it was to be",
      errors: [{ code: "conflict" }],
    });
  });

  it("answers 503 at the deadline and aborts the work", async () => {
    const answered = send("/api/v1/brief");
    const signal = await front.entered();
    const response = await answered;
    expect(response.status).toBe(503);
    expect((await errorOf(response)).errors[0]?.code).toBe("deadline_exceeded");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(signal.aborted).toBe(true);
  });

  it("fires the signal when the client goes away", async () => {
    const controller = new AbortController();
    const answered = send("/api/v1/slow", { method: "POST", signal: controller.signal }).catch(() => "gone");
    const signal = await front.entered();
    expect(signal.aborted).toBe(false);
    controller.abort();
    expect(await answered).toBe("gone");
    await until(() => signal.aborted);
    await until(() => front.ended.some(({ route, status }) => route === "slow" && status === 0));
  });
});
