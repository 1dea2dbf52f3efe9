/** Login: what it returns, what it rejects, and how guessing is slowed down. */
import { beforeEach, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import { LoginThrottle, waitAfter, type LoginReservation } from "../../../src/identity/login/login-throttle.js";
import { ThrottleCounters } from "../../../src/identity/login/throttle-counters.js";
import type { AppError } from "../../../src/platform/errors.js";
import type { Store } from "../../../src/platform/store/store.js";
import {
  bearer,
  ADDRESS,
  CHEAP_HASH,
  PASSWORD,
  codeOf,
  logIn,
  openHarness,
  retryAfterOf,
  signUp,
  subjectOf,
  type Harness,
} from "../support.js";

const EMAIL = "ada@example.com";
let harness: Harness;

beforeEach(async () => {
  harness = await openHarness();
});

async function failures(count: number, email = EMAIL): Promise<string[]> {
  const codes: string[] = [];
  for (let i = 0; i < count; i++) codes.push(await codeOf(() => logIn(harness, email, `wrong guess ${i}`)));
  return codes;
}

describe("a login", () => {
  it("returns the user and an access token that authenticates it", async () => {
    const user = await signUp(harness, EMAIL);
    const answer = await logIn(harness, EMAIL);
    expect(answer.user).toEqual(user);
    expect(answer.token).toMatchObject({ expires_in: 900, permissions: user.permissions });
    expect(answer.token).not.toHaveProperty("refresh_token");
    expect(answer.token).not.toHaveProperty("scope");
    const principal = await harness.identity.authenticate(answer.token.access_token);
    expect(principal).toMatchObject({
      subject: { kind: "user", id: user.id },
      permissions: user.permissions,
      tokenId: answer.token.id,
    });
    expect(Object.keys(decodeJwt(answer.token.access_token)).sort()).toEqual([
      "aud",
      "ep",
      "exp",
      "iat",
      "iss",
      "jti",
      "nbf",
      "perm",
      "sid",
      "sub",
    ]);
  });

  it("returns a refresh token for the scope offline_access, and ignores unknown scopes", async () => {
    await signUp(harness, EMAIL);
    const { token } = await logIn(harness, EMAIL, PASSWORD, ADDRESS, "openid offline_access sudo");
    expect(token.refresh_token).toMatch(/^prt_/);
    expect(token.scope).toBe("offline_access");
  });

  it("takes every spelling of the e-mail and of the password's characters", async () => {
    await harness.identity.services.users.create(
      { email: "JOSÉ@Example.com ", first_name: "José", last_name: "M", password: "une phrase privée à moi" },
      ADDRESS,
    );
    expect(await codeOf(() => logIn(harness, "jose\u0301@example.COM", "une phrase prive\u0301e a\u0300 moi"))).toBe(
      "ok",
    );
  });

  it("keeps its tokens valid over a restart", async () => {
    await signUp(harness, EMAIL);
    const { token } = await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access");
    const later = await harness.restart();
    expect(await codeOf(() => later.identity.authenticate(token.access_token))).toBe("ok");
    expect(
      await codeOf(() =>
        later.identity.services.tokenGrants.create({ grant_type: "refresh_token" }, bearer(token.refresh_token)),
      ),
    ).toBe("ok");
  });

  it("renews the stored hash when its cost has changed, and only then", async () => {
    const user = await signUp(harness, EMAIL);
    const hash = (of: Harness) =>
      of.store.get<{ password_hash: string }>(["user_credential", user.id])!.value.password_hash;
    const first = hash(harness);
    await logIn(harness, EMAIL);
    expect(hash(harness)).toBe(first);
    const later = await harness.restart({ hashCost: { ...CHEAP_HASH, passes: 2 } });
    await logIn(later, EMAIL);
    expect(hash(later)).toMatch(/^\$argon2id\$v=19\$m=8,t=2,p=1\$/);
    expect(await codeOf(() => logIn(later, EMAIL))).toBe("ok");
    expect(await codeOf(() => logIn(later, EMAIL, "wrong guess"))).toBe("invalid_credentials");
  });

  it("of many users at once from one address works for all that the gate takes", async () => {
    const emails = Array.from({ length: 34 }, (_, i) => `user${i}@example.com`);
    for (const email of emails) await signUp(harness, email);
    const codes = await Promise.all(emails.map((email) => codeOf(() => logIn(harness, email))));
    expect(new Set(codes)).toEqual(new Set(["ok"]));
  });

  it("deletes sessions that are over", async () => {
    const user = await signUp(harness, EMAIL);
    for (let i = 0; i < 60; i++) await logIn(harness, EMAIL);
    harness.clock.advanceSec(901);
    await logIn(harness, EMAIL);
    expect(harness.store.count(["session", "user", user.id])).toBe(1);
  });

  it("keeps a subject's sessions to a limit by ending the oldest", async () => {
    const user = await signUp(harness, EMAIL);
    const tokens: string[] = [];
    for (let i = 0; i < 203; i++) {
      harness.clock.ms += 1;
      tokens.push((await logIn(harness, EMAIL)).token.access_token);
    }
    expect(harness.store.count(["session", "user", user.id])).toBe(200);
    expect(await codeOf(() => harness.identity.authenticate(tokens[0]!))).toBe("unauthorized");
    expect(await codeOf(() => harness.identity.authenticate(tokens.at(-1)!))).toBe("ok");
  });
});

describe("a refused login", () => {
  it("says the same for an unknown e-mail, a wrong password, and a user who may not log in", async () => {
    const user = await signUp(harness, EMAIL);
    await signUp(harness, "off@example.com");
    const off = await signUp(harness, "off2@example.com");
    await disable(off.id);
    await setPermissions(user.id, user.permissions & ~1);
    const answers: unknown[] = [];
    for (const [email, password] of [
      ["nobody@example.com", PASSWORD],
      ["not an address", PASSWORD],
      ["off@example.com", "wrong guess"],
      ["off2@example.com", PASSWORD],
      [EMAIL, PASSWORD],
      [EMAIL, "x".repeat(512)],
    ] as const) {
      await logIn(harness, email, password).catch((error: unknown) => {
        const { code, message, details, retryAfterSec } = error as AppError;
        answers.push([code, message, details, retryAfterSec]);
      });
    }
    expect(answers).toHaveLength(6);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((answers[0] as unknown[])[0]).toBe("invalid_credentials");
  });

  it("counts an unknown e-mail as it counts a known one", async () => {
    await signUp(harness, EMAIL);
    const known = [...(await failures(5)), await codeOf(() => logIn(harness, EMAIL, "wrong guess"))];
    const unknown = [
      ...(await failures(5, "nobody@example.com")),
      await codeOf(() => logIn(harness, "nobody@example.com", "wrong guess")),
    ];
    expect(unknown).toEqual(known);
  });

  async function disable(id: string): Promise<void> {
    await harness.store.commit({ puts: [{ key: ["subject_state", "user", id], value: { enabled: false, epoch: 1 } }] });
  }

  async function setPermissions(id: string, permissions: number): Promise<void> {
    const user = harness.store.get<Record<string, string>>(["user", id])!;
    await harness.store.commit({ puts: [{ key: ["user", id], value: { ...user.value, permissions } }] });
  }
});

describe("guessing", () => {
  it("is free for 5 failures and then waits 1, 2, 4 ... seconds, at most 15 minutes", async () => {
    await signUp(harness, EMAIL);
    expect(new Set(await failures(5))).toEqual(new Set(["invalid_credentials"]));
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
      expect(await retryAfterOf(() => logIn(harness, EMAIL, PASSWORD))).toBe(seconds);
      harness.clock.ms += seconds * 1000 - 1;
      expect(await codeOf(() => logIn(harness, EMAIL, PASSWORD))).toBe("too_many_requests");
      harness.clock.ms += 1;
      expect(await codeOf(() => logIn(harness, EMAIL, "wrong guess"))).toBe("invalid_credentials");
    }
  });

  it("starts anew after a success", async () => {
    await signUp(harness, EMAIL);
    await failures(4);
    await logIn(harness, EMAIL);
    expect(new Set(await failures(5))).toEqual(new Set(["invalid_credentials"]));
  });

  it("is forgotten after an hour", async () => {
    await signUp(harness, EMAIL);
    await failures(5);
    harness.clock.advanceSec(3601);
    expect(new Set(await failures(5))).toEqual(new Set(["invalid_credentials"]));
  });

  it("in parallel is evaluated at most 5 times before waiting, whatever the spelling", async () => {
    await signUp(harness, EMAIL);
    const spellings = [EMAIL, "ADA@example.com", " ada@example.com ", "ａｄａ@example.com", "ada@EXAMPLE.com"];
    const codes = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        codeOf(() => logIn(harness, spellings[i % 5]!, `wrong guess ${i}`, `192.0.2.${i}`)),
      ),
    );
    const evaluated = codes.filter((code) => code === "invalid_credentials").length;
    expect(evaluated).toBeGreaterThanOrEqual(1);
    expect(evaluated).toBeLessThanOrEqual(5);
    expect(codes.filter((code) => code !== "invalid_credentials" && code !== "too_many_requests")).toEqual([]);
  });

  it("lets one attempt of an account run at a time", async () => {
    await signUp(harness, EMAIL);
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(() => logIn(harness, EMAIL))));
    expect(codes.sort()).toEqual(["ok", "too_many_requests", "too_many_requests"]);
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("ok");
  });

  it("does not end what the victim already holds", async () => {
    await signUp(harness, EMAIL);
    const { token } = await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access");
    await failures(5);
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("too_many_requests");
    expect(await codeOf(() => harness.identity.authenticate(token.access_token))).toBe("ok");
    expect(
      await codeOf(() =>
        harness.identity.services.tokenGrants.create({ grant_type: "refresh_token" }, bearer(token.refresh_token)),
      ),
    ).toBe("ok");
  });

  it("stays slowed over a restart", async () => {
    await signUp(harness, EMAIL);
    await failures(5);
    harness = await harness.restart();
    expect(await retryAfterOf(() => logIn(harness, EMAIL))).toBe(1);
  });

  it("over many accounts is slowed per address, and not for other addresses", async () => {
    harness = await harness.restart({ throttle: { addressFailuresMax: 8 } });
    await signUp(harness, EMAIL);
    const codes: string[] = [];
    for (let i = 0; i < 9; i++)
      codes.push(await codeOf(() => logIn(harness, `user${i}@example.com`, "wrong guess", `2001:db8::${i}`)));
    expect(codes).toEqual([...Array.from({ length: 8 }, () => "invalid_credentials"), "too_many_requests"]);
    expect(await codeOf(() => logIn(harness, EMAIL, PASSWORD, "2001:db8:0:1::1"))).toBe("ok");
  });

  it("is not hidden among successes from the same address", async () => {
    harness = await harness.restart({ throttle: { addressFailuresMax: 8 } });
    await signUp(harness, EMAIL);
    let refused = 0;
    for (let i = 0; i < 8; i++) {
      refused += (await codeOf(() => logIn(harness, EMAIL))) === "ok" ? 0 : 1;
      await codeOf(() => logIn(harness, `user${i}@example.com`, "wrong guess"));
    }
    expect(refused).toBe(0);
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("too_many_requests");
  });

  it("that was never evaluated does not count", async () => {
    // A hash of real cost is still running when the other attempts arrive.
    harness = await harness.restart({
      hashCost: { memoryKiB: 64 * 1024, passes: 2, lanes: 1 },
      hashGate: { concurrencyMax: 1, queueLengthMax: 0, admissionQueueLengthMax: 0 },
    });
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        codeOf(() => logIn(harness, `user${i}@example.com`, "wrong guess", `192.0.2.${i}`)),
      ),
    );
    expect(codes).toContain("too_many_requests");
    const turnedAway = codes.indexOf("too_many_requests");
    const again: string[] = [];
    for (let i = 0; i < 5; i++)
      again.push(await codeOf(() => logIn(harness, `user${turnedAway}@example.com`, "wrong guess")));
    expect(new Set(again)).toEqual(new Set(["invalid_credentials"]));
  });

  it("deletes expired counters", async () => {
    harness = await harness.restart({ throttle: { addressFailuresMax: 1000 } });
    for (let i = 0; i < 64; i++) await codeOf(() => logIn(harness, `user${i}@example.com`, "wrong guess"));
    expect(harness.store.count(["login_throttle"])).toBe(65);
    harness.clock.advanceSec(3601);
    await signUp(harness, EMAIL);
    for (let i = 0; i < 64; i++) await logIn(harness, EMAIL);
    expect(harness.store.count(["login_throttle"])).toBeLessThan(3);
  });
});

describe("a reservation whose process died", () => {
  it("counts as a failure, and frees the account after half a minute", async () => {
    const dependencies = {
      store: harness.store,
      clock: harness.clock,
      counters: new ThrottleCounters({ store: harness.store, clock: harness.clock }),
    };
    const throttle = new LoginThrottle({}, dependencies);
    await throttle.reserve({ email: EMAIL, address: ADDRESS });
    harness = await harness.restart();
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("too_many_requests");
    harness.clock.advanceSec(30);
    expect(new Set(await failures(4))).toEqual(new Set(["invalid_credentials"]));
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("too_many_requests");
  });
});

describe("the room that is held back on a full disk", () => {
  it("is open to thirty attempts a minute of all addresses together, and to all their writes", async () => {
    const urgent: (boolean | undefined)[] = [];
    const { store: inner } = harness;
    const store: Store = {
      get: (key) => inner.get(key),
      range: (prefix, options) => inner.range(prefix, options),
      count: (prefix) => inner.count(prefix),
      close: () => inner.close(),
      commit: async (commit) => {
        urgent.push(commit.urgent);
        await inner.commit(commit);
      },
    };
    const throttle = new LoginThrottle(
      {},
      { store, clock: harness.clock, counters: new ThrottleCounters({ store, clock: harness.clock }) },
    );
    const attempt = async (i: number): Promise<LoginReservation> =>
      await throttle.reserve({ email: `u${i}@example.com`, address: `10.0.0.${i}` });
    const reservations: LoginReservation[] = [];
    for (let i = 0; i < 31; i++) reservations.push(await attempt(i));
    // No counter has expired yet, so nothing is swept and each commit is a reservation.
    expect(urgent).toEqual([...Array.from({ length: 30 }, () => true), false]);
    expect(reservations.map(({ isUrgent }) => isUrgent)).toEqual(urgent);
    urgent.length = 0;
    await throttle.fail(reservations[0]!);
    await throttle.release(reservations[1]!);
    await throttle.fail(reservations[30]!);
    expect(urgent).toEqual([true, true, false]);
    // Attempts that must wait use up none of the thirty.
    harness.clock.advanceSec(60);
    await attempt(40);
    for (let i = 0; i < 30; i++) expect(await codeOf(() => attempt(40))).toBe("too_many_requests");
    expect((await attempt(41)).isUrgent).toBe(true);
  });
});

describe("waiting times", () => {
  it.each([
    [0, 0],
    [4, 0],
    [5, 1000],
    [6, 2000],
    [14, 512_000],
    [15, 900_000],
    [10_000, 900_000],
  ])("after %i failures are %i ms", (count, waitMs) => {
    expect(waitAfter(count, 5)).toBe(waitMs);
  });
});

describe("subjects", () => {
  it("lose every token and session when their epoch moves on", async () => {
    const user = await signUp(harness, EMAIL);
    const { token } = await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access");
    expect(await codeOf(() => harness.identity.authenticate(token.access_token))).toBe("ok");
    await harness.identity.services.tokens.revokeAllOf(subjectOf(user));
    expect(await codeOf(() => harness.identity.authenticate(token.access_token))).toBe("unauthorized");
    expect(
      await codeOf(() =>
        harness.identity.services.tokenGrants.create({ grant_type: "refresh_token" }, bearer(token.refresh_token)),
      ),
    ).toBe("invalid_grant");
    expect(await codeOf(() => logIn(harness, EMAIL))).toBe("ok");
  });
});
