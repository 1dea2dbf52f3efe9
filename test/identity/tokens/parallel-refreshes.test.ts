/** Refreshes at once over HTTP, as the windows of one browser send them. SOURCE: RFC 9700 section 4.14.2. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, type HttpHarness, type Person } from "../http-support.js";

let harness: HttpHarness;
let ada: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

/** Status of a refresh, and its tokens; by the token route or by OAuth's. */
async function refresh(token: string, path = "/api/v1/tokens") {
  const answer = await fetch(harness.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ grant_type: "refresh_token", refresh_token: token }),
  });
  const body = (await answer.json()) as { access_token: string; refresh_token: string };
  return { status: answer.status, access: body.access_token, refresh: body.refresh_token };
}

describe("twenty refreshes at once over HTTP", () => {
  it.each(["/api/v1/tokens", "/api/v1/oauth/token"])(
    "by %s all get the successor, which works, until the old token is used after the grace",
    async (path) => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(ada.refresh!, path)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([path.includes("oauth") ? 200 : 201]));
      expect(new Set(answers.map((answer) => answer.refresh)).size).toBe(1);
      expect(await Promise.all(answers.map(({ access }) => harness.isAlive(access)))).not.toContain(false);

      // A second round by the successor, as the windows do fifteen minutes later.
      const successor = answers[0]!.refresh;
      const second = await Promise.all(Array.from({ length: 20 }, () => refresh(successor, path)));
      expect(new Set(second.map((answer) => answer.refresh)).size).toBe(1);
      expect(second[0]!.refresh).not.toBe(successor);

      harness.clock.ms += 10_000;
      expect((await refresh(successor, path)).status).toBeGreaterThanOrEqual(400);
      expect((await refresh(second[0]!.refresh, path)).status).toBeGreaterThanOrEqual(400);
      expect(await harness.isAlive(second[0]!.access)).toBe(false);
    },
  );
});
