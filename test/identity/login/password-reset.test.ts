/** Password reset by mail, and its abuses. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { PASSWORD } from "../support.js";

let harness: HttpHarness;
let ada: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

const NEW_PASSWORD = "another long phrase";

describe("a password reset", () => {
  it("answers the same for known and unknown addresses, and mails the known one only", async () => {
    const answers = await Promise.all(
      ["ada@example.com", "nobody@example.com", "no address"].map(async (email) =>
        harness.anonymous.requestPasswordReset({ body: { email } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    await harness.identity.services.outbox.idle();
    expect(harness.mails.map(({ to }) => to)).toEqual(["ada@example.com"]);
  });

  it("sets the password once, voids every token, and forgets the failures that an attacker made", async () => {
    for (let i = 0; i < 6; i++) await harness.logIn("ada@example.com", "a wrong guess");
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const token = (await harness.mailedToken("ada@example.com"))!;
    expect(await outcome(harness.anonymous.resetPassword({ params: { token }, body: { password: "short" } }))).toBe(
      "422 weak_password",
    );
    expect(
      (await harness.anonymous.resetPassword({ params: { token }, body: { password: NEW_PASSWORD } })).status,
    ).toBe(204);
    expect(await harness.isAlive(ada.token)).toBe(false);
    expect(await harness.logIn("ada@example.com", NEW_PASSWORD)).toBe("ok");
    expect(await outcome(harness.anonymous.resetPassword({ params: { token }, body: { password: PASSWORD } }))).toBe(
      "422 reset_token_invalid",
    );
  });

  it("is over after an hour, after another reset, and for no made-up token", async () => {
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const first = (await harness.mailedToken("ada@example.com"))!;
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const second = (await harness.mailedToken("ada@example.com"))!;
    expect(second).not.toBe(first);
    expect(
      (await harness.anonymous.resetPassword({ params: { token: second }, body: { password: NEW_PASSWORD } })).status,
    ).toBe(204);
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: first }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const third = (await harness.mailedToken("ada@example.com"))!;
    harness.clock.advanceSec(3600);
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: third }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: "ppr_x" }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    expect(JSON.stringify(harness.store.range([]))).not.toContain(third);
  });

  it("raced by many sets one password", async () => {
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const token = (await harness.mailedToken("ada@example.com"))!;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        outcome(
          harness.anonymous.resetPassword({
            params: { token },
            body: { password: `phrase number ${String(i)} of eight` },
          }),
        ),
      ),
    );
    expect(outcomes.filter((code) => code === "ok")).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(["ok", "422 reset_token_invalid"]));
  });
});
