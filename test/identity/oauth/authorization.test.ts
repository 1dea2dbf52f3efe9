/** The login page and the authorization endpoint, as an attacker meets them. SOURCE: RFC 6749 section 4.1, RFC 9207. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PASSWORD } from "../support.js";
import { EMAIL, REDIRECT, discover, pendingAuthorization, setUpOAuth, submitForm } from "./support.js";

const setup = setUpOAuth();

describe("the login page", () => {
  it("escapes what it shows, sets no cookie, and allows forms only to itself and the client", async () => {
    const { url } = await pendingAuthorization(await discover(setup));
    url.searchParams.set("state", '"><script>alert(1)</script>');
    url.searchParams.set("login_hint", '"onfocus="x');
    const answer = await fetch(url);
    const html = await answer.text();
    expect(answer.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; .*form-action 'self' https:\/\/app\.example\.com;.*frame-ancestors 'none'$/,
    );
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(html).not.toContain("<script>");
    expect(html).toContain("&lt;b&gt;Engine&lt;/b&gt;");
  });

  it("is shown again after a wrong password, counts the failure, and blocks after five", async () => {
    const { url } = await pendingAuthorization(await discover(setup));
    for (let i = 0; i < 5; i++)
      expect((await submitForm(url, { email: EMAIL, password: "wrong guess" })).status).toBe(401);
    const blocked = await submitForm(url, { email: EMAIL, password: PASSWORD });
    expect([blocked.status, blocked.headers.get("retry-after")]).toEqual([429, "1"]);
    // The counter is the same as that of POST /authenticate.
    await expect(
      setup.harness.anonymous.authenticate({ body: { email: EMAIL, password: PASSWORD } }),
    ).rejects.toMatchObject({
      status: 429,
    });
  });

  it("sends a refusal and a missing login to the client, with state and issuer", async () => {
    const { url, state } = await pendingAuthorization(await discover(setup));
    const denied = new URL(
      (await submitForm(url, { email: "", password: "", decision: "deny" })).headers.get("location")!,
    );
    expect([...denied.searchParams]).toEqual([
      ["error", "access_denied"],
      ["state", state],
      ["iss", setup.harness.url],
    ]);
    url.searchParams.set("prompt", "none");
    const silent = await fetch(url, { redirect: "manual" });
    expect([silent.status, new URL(silent.headers.get("location")!).searchParams.get("error")]).toEqual([
      302,
      "login_required",
    ]);
  });

  it("is skipped with the token of a login as bearer, and with no other token", async () => {
    const { url } = await pendingAuthorization(await discover(setup));
    const asked = async (token: string) =>
      fetch(url, { redirect: "manual", headers: { authorization: `bearer ${token}` } });
    const answer = await asked(setup.owner.token);
    expect([answer.status, answer.headers.get("location")?.startsWith(`${REDIRECT}?code=pac_`)]).toEqual([302, true]);
    const personal = (await setup.owner.api.createPersonalToken({ body: { name: "script" } })).body.access_token;
    expect((await asked(personal)).status).toBe(403);
    expect((await asked("nonsense")).status).toBe(401);
    const application = (await setup.owner.api.createToken({ body: { application_id: setup.clientId } })).body
      .access_token;
    expect((await asked(application)).status).toBe(403);
  });

  it.each([
    ["code_challenge", undefined],
    ["code_challenge", "short"],
    ["code_challenge", `${"a".repeat(42)}=`],
    ["code_challenge", "a".repeat(44)],
    ["code_challenge_method", undefined],
    ["code_challenge_method", "plain"],
    ["response_type", "token"],
    ["response_type", undefined],
    ["client_id", "nobody"],
    ["client_id", undefined],
    ["client_id", randomUUID()],
    ["redirect_uri", undefined],
    ["redirect_uri", `${REDIRECT}/`],
    ["redirect_uri", "https://app.example.com.evil.example/callback"],
    ["redirect_uri", `${REDIRECT}?x=1`],
    ["redirect_uri", "javascript:alert(1)"],
  ])("refuses %s %j with 422 and never redirects", async (name, value) => {
    const { url } = await pendingAuthorization(await discover(setup));
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    const answer = await fetch(url, { redirect: "manual", headers: { authorization: `bearer ${setup.owner.token}` } });
    expect([answer.status, answer.headers.get("location")]).toEqual([422, null]);
    expect(JSON.stringify(await answer.json())).toContain(name);
    expect(setup.harness.store.range(["authorization_code"])).toEqual([]);
  });
});
