/** Sessions: rotation of refresh tokens, retries after a lost response, reuse, races. */
import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { createRefreshToken } from "../../../src/platform/auth/refresh-token.js";
import type { TokenJson } from "../../../src/identity/schemas.js";
import { bearer, ADDRESS, PASSWORD, codeOf, logIn, openHarness, signUp, type Harness } from "../support.js";

const EMAIL = "ada@example.com";
let harness: Harness;
let first: TokenJson;
let userId: string;

beforeEach(async () => {
  harness = await openHarness();
  userId = (await signUp(harness, EMAIL)).id;
  first = (await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access")).token;
});

function refresh(token: TokenJson | string, scope?: string): Promise<TokenJson> {
  const text = typeof token === "string" ? token : token.refresh_token!;
  return harness.identity.services.tokenGrants.create(
    { grant_type: "refresh_token", refresh_token: text, ...(scope === undefined ? {} : { scope }) },
    bearer(),
  );
}

function access(token: TokenJson): Promise<string> {
  return codeOf(() => harness.identity.authenticate(token.access_token));
}

describe("a refresh", () => {
  it("answers a new access token and replaces the refresh token", async () => {
    const second = await refresh(first);
    expect(second).toMatchObject({ expires_in: 900, permissions: first.permissions, scope: "offline_access" });
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(second.id).toBe(first.id);
    expect(decodeJwt(second.access_token).jti).not.toBe(decodeJwt(first.access_token).jti);
    expect(await access(second)).toBe("ok");
    expect(await access(await refresh(second))).toBe("ok");
  });

  it("takes the token as the bearer, as existing clients send it", async () => {
    expect(
      await codeOf(() =>
        harness.identity.services.tokenGrants.create({ grant_type: "refresh_token" }, bearer(first.refresh_token)),
      ),
    ).toBe("ok");
  });

  it("carries the permissions that the user has by then", async () => {
    const user = harness.store.get<Record<string, string>>(["user", userId])!;
    await harness.store.commit({ puts: [{ key: ["user", userId], value: { ...user.value, permissions: 3 } }] });
    expect((await refresh(first)).permissions).toBe(3);
  });

  it("does not widen the scope, and may repeat or narrow it", async () => {
    expect(await codeOf(() => refresh(first, ""))).toBe("ok");
    const again = (await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access")).token;
    expect(await codeOf(() => refresh(again, "offline_access"))).toBe("ok");
  });

  it.each(["password", "", "Refresh_token"])(
    "rejects the grant type %j, and names the supported ones",
    async (grant_type) => {
      await expect(
        harness.identity.services.tokenGrants.create({ grant_type }, bearer(first.refresh_token)),
      ).rejects.toMatchObject({
        code: "unsupported_grant",
        message:
          "grant_type must be one of: refresh_token, client_credentials, authorization_code, urn:ietf:params:oauth:grant-type:device_code",
      });
    },
  );

  it("rejects an access token, no token, and an unknown token", async () => {
    expect(await codeOf(() => refresh(first.access_token))).toBe("invalid_grant");
    expect(await codeOf(() => refresh(createRefreshToken().text))).toBe("invalid_grant");
    expect(
      await codeOf(() => harness.identity.services.tokenGrants.create({ grant_type: "refresh_token" }, bearer())),
    ).toBe("invalid_grant");
  });

  it("keeps only hashes of tokens in the store", async () => {
    const everything = JSON.stringify(harness.store.range([]));
    expect(everything).not.toContain(first.refresh_token!.slice(4, 40));
    expect(everything).not.toContain(first.access_token.split(".")[2]);
  });
});

describe("a replaced refresh token", () => {
  it("within 10 s, its successor unused, gets the same successor again", async () => {
    const lost = await refresh(first);
    harness.clock.ms += 9999;
    const retried = await refresh(first);
    expect(retried.refresh_token).toBe(lost.refresh_token);
    expect([await access(lost), await access(retried)]).toEqual(["ok", "ok"]);
    expect(await codeOf(() => refresh(retried))).toBe("ok");
  });

  it("of a family that an older version rotated gets a new successor", async () => {
    await refresh(first);
    const [record] = harness.store.range<{ refresh: Record<string, string> }>(["session", "user", userId]);
    const { successor_salt: _salt, ...refreshState } = record!.value.refresh;
    await harness.store.commit({ puts: [{ key: record!.key, value: { ...record!.value, refresh: refreshState } }] });
    const retried = await refresh(first);
    expect((await refresh(first)).refresh_token).toBe(retried.refresh_token);
    expect(await codeOf(() => refresh(retried))).toBe("ok");
  });

  it("used after 10 s ends the session with its access tokens", async () => {
    const second = await refresh(first);
    expect(await access(second)).toBe("ok");
    harness.clock.ms += 10_000;
    expect(await codeOf(() => refresh(first))).toBe("invalid_grant");
    expect(await access(second)).toBe("unauthorized");
    expect(await access(first)).toBe("unauthorized");
    expect(await codeOf(() => refresh(second))).toBe("invalid_grant");
  });

  it("whose successor was used ends the session at once", async () => {
    const second = await refresh(first);
    const third = await refresh(second);
    expect(await codeOf(() => refresh(first))).toBe("invalid_grant");
    expect(await access(third)).toBe("unauthorized");
    expect(await codeOf(() => refresh(third))).toBe("invalid_grant");
  });

  it("of many generations ago is still recognised", async () => {
    let latest = first;
    for (let i = 0; i < 30; i++) latest = await refresh(latest);
    expect(await codeOf(() => refresh(first))).toBe("invalid_grant");
    expect(await access(latest)).toBe("unauthorized");
  });

  it("ends only its own session", async () => {
    const other = (await logIn(harness, EMAIL, PASSWORD, ADDRESS, "offline_access")).token;
    const second = await refresh(first);
    await refresh(second);
    await codeOf(() => refresh(first));
    expect(await access(other)).toBe("ok");
    expect(await codeOf(() => refresh(other))).toBe("ok");
  });

  it("gets the same result after a restart as before it", async () => {
    const answered = await refresh(first);
    harness = await harness.restart();
    const retried = await refresh(first);
    expect(retried.refresh_token).toBe(answered.refresh_token);
    harness = await harness.restart();
    expect(await codeOf(() => refresh(retried))).toBe("ok");
    expect(await codeOf(() => refresh(first))).toBe("invalid_grant");
    expect(await access(retried)).toBe("unauthorized");
  });
});

describe("fifty refreshes at once", () => {
  it("all get one and the same successor, and the session is rotated once", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(first)));
    expect(new Set(answers.map((token) => token.refresh_token)).size).toBe(1);
    expect(new Set(answers.map((token) => decodeJwt(token.access_token).jti)).size).toBe(50);
    expect(harness.store.range<{ refresh: object }>(["session", "user", userId])[0]!.value.refresh).toMatchObject({
      generation: 2,
    });
    expect(await codeOf(() => refresh(answers[0]!))).toBe("ok");
    expect(JSON.stringify(harness.store.range([]))).not.toContain(answers[0]!.refresh_token!.slice(4, 40));
  });

  it("by several services over one store also get one successor", async () => {
    // Requests to one service wait for each other; between services only the store's checks order them.
    const { createIdentity } = await import("../../../src/identity/create-identity.js");
    const { openSigningKeys } = await import("../../../src/platform/auth/signing-keys.js");
    const { secretFile } = await import("../../../src/platform/files/secret-file.js");
    const { quietLog } = await import("../../platform/auth/support.js");
    const keys = await openSigningKeys(
      { file: secretFile(`${harness.folder}/signing-keys.json`) },
      { clock: harness.clock, log: quietLog },
    );
    const services = Array.from(
      { length: 8 },
      () => createIdentity({ issuer: "https://issuer.test" }, { ...harness.parts, keys }).services,
    );
    const answers = await Promise.all(
      services.map(({ tokenGrants }) =>
        tokenGrants.create({ grant_type: "refresh_token" }, bearer(first.refresh_token)),
      ),
    );
    expect(new Set(answers.map((token) => token.refresh_token)).size).toBe(1);
    const session = harness.store.range<{ refresh: { generation: number } }>(["session", "user", userId])[0]!.value;
    expect(session.refresh.generation).toBe(2);
  });
});

describe("a session", () => {
  it("is over after 7 days without refresh", async () => {
    harness.clock.advanceSec(7 * 86_400 - 1);
    const second = await refresh(first);
    harness.clock.advanceSec(7 * 86_400);
    expect(await codeOf(() => refresh(second))).toBe("invalid_grant");
  });

  it("is over after 30 days, however often refreshed, and no access token outlives it", async () => {
    let token = first;
    for (let day = 6; day <= 24; day += 6) {
      harness.clock.advanceSec(6 * 86_400);
      token = await refresh(token);
    }
    harness.clock.advanceSec(6 * 86_400 - 60);
    token = await refresh(token);
    expect(token.expires_in).toBe(60);
    harness.clock.advanceSec(60);
    expect(await codeOf(() => refresh(token))).toBe("invalid_grant");
    expect(harness.store.count(["refresh_handle"])).toBe(0);
  });

  it("of a disabled user is over at the next refresh", async () => {
    await harness.store.commit({
      puts: [{ key: ["subject_state", "user", userId], value: { enabled: false, epoch: 1 } }],
    });
    harness.clock.advanceSec(1);
    expect(await access(first)).toBe("unauthorized");
    expect(await codeOf(() => refresh(first))).toBe("invalid_grant");
  });
});
