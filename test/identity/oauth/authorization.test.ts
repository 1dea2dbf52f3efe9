/** The login page and the authorization endpoint, as an attacker meets them. SOURCE: RFC 6749 section 4.1, RFC 8252, RFC 9207. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PASSWORD } from "../support.js";
import {
  EMAIL,
  REDIRECT,
  codeFor,
  discover,
  pendingAuthorization,
  postForm,
  setUpOAuth,
  submitForm,
} from "./support.js";

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
    // Isolated, so that characters for the direction of a text reorder nothing around it.
    expect(html).toContain("<bdi>&lt;b&gt;Engine&lt;/b&gt;</bdi>");
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

  it("refuses an unknown client or address with 422 and never redirects", async () => {
    const rows: [string, string | undefined][] = [
      ["client_id", "nobody"],
      ["client_id", undefined],
      ["client_id", randomUUID()],
      ["redirect_uri", undefined],
      ["redirect_uri", `${REDIRECT}/`],
      ["redirect_uri", "https://app.example.com.evil.example/callback"],
      ["redirect_uri", `${REDIRECT}?x=1`],
      ["redirect_uri", "javascript:alert(1)"],
      ["redirect_uri", "http://127.0.0.1.evil.example:9999/cb"],
      ["redirect_uri", "http://127.0.0.1:9999@evil.example/cb"],
      ["redirect_uri", "http://127.0.0.1:99999/cb"],
      ["redirect_uri", "http://127.0.0.1:80:80/cb"],
      ["redirect_uri", "http://127.0.0.1:9999/cb#x"],
      ["redirect_uri", "http://127.0.0.1:9999/other"],
      ["redirect_uri", "http://127.0.0.1:9999/cb?x=1"],
      ["redirect_uri", "http://[::1]:9999/cb"],
      ["redirect_uri", "http://localhost:9999/cb"],
      ["redirect_uri", "https://127.0.0.1:9999/cb"],
      ["redirect_uri", "https://app.example.com:444/callback"],
    ];
    for (const [name, value] of rows) {
      const { url } = await pendingAuthorization(await discover(setup));
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      // A second fault makes no difference.
      url.searchParams.set("response_type", "token");
      for (const method of ["GET", "POST"]) {
        const answer = await (method === "GET"
          ? fetch(url, { redirect: "manual", headers: { authorization: `bearer ${setup.owner.token}` } })
          : fetch(new URL("authorize", url), { method, redirect: "manual", body: url.searchParams }));
        expect([answer.status, answer.headers.get("location")], `${name} ${String(value)}`).toEqual([422, null]);
        expect(JSON.stringify(await answer.json())).toContain(name);
      }
      expect(setup.harness.store.range(["authorization_code"])).toEqual([]);
    }
  });

  it("tells the client by a redirect what else is wrong", async () => {
    const rows: [string, string | undefined, string][] = [
      ["code_challenge", undefined, "invalid_request"],
      ["code_challenge", "short", "invalid_request"],
      ["code_challenge", `${"a".repeat(42)}=`, "invalid_request"],
      ["code_challenge", "a".repeat(44), "invalid_request"],
      ["code_challenge_method", undefined, "invalid_request"],
      ["code_challenge_method", "plain", "invalid_request"],
      ["response_type", "token", "unsupported_response_type"],
      ["response_type", "code id_token", "unsupported_response_type"],
      ["response_type", undefined, "invalid_request"],
      ["response_mode", "fragment", "invalid_request"],
      ["scope", "nothing known", "invalid_scope"],
      ["scope", 'read "', "invalid_scope"],
      ["scope", `read ${"x".repeat(256)}`, "invalid_scope"],
      ["nonce", "n".repeat(256), "invalid_request"],
      ["prompt", "none login", "invalid_request"],
      ["max_age", "-1", "invalid_request"],
      ["max_age", "soon", "invalid_request"],
      ["id_token_hint", "nonsense", "invalid_request"],
      ["request", "eyJhbGciOiJub25lIn0.e30.", "request_not_supported"],
      ["request_uri", "https://app.example.com/request", "request_uri_not_supported"],
      ["registration", "{}", "registration_not_supported"],
    ];
    for (const [name, value, error] of rows) {
      const { url, state } = await pendingAuthorization(await discover(setup));
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      const bearer = { authorization: `bearer ${setup.owner.token}` };
      const answers = [
        await fetch(url, { redirect: "manual" }),
        await fetch(url, { redirect: "manual", headers: bearer }),
        await fetch(new URL("authorize", url), { method: "POST", redirect: "manual", body: url.searchParams }),
        await fetch(new URL("authorize", url), {
          method: "POST",
          redirect: "manual",
          body: new URLSearchParams([...url.searchParams, ["email", EMAIL], ["password", PASSWORD]]),
        }),
      ];
      expect(
        answers.map(({ status }) => status),
        `${name} ${String(value)}`,
      ).toEqual([302, 302, 303, 303]);
      for (const answer of answers) {
        const { origin, pathname, searchParams } = new URL(answer.headers.get("location")!);
        expect(origin + pathname).toBe(REDIRECT);
        expect([...searchParams]).toEqual([
          ["error", error],
          ["error_description", expect.stringContaining(name) as string],
          ["state", state],
          ["iss", setup.harness.url],
        ]);
      }
      expect(setup.harness.store.range(["authorization_code"])).toEqual([]);
    }
  });

  it("takes any port on a registered loopback address, and no other difference", async () => {
    const rows: [string, string, boolean][] = [
      ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", true],
      ["http://127.0.0.1:9999/cb", "http://127.0.0.1/cb", true],
      ["http://[::1]:1/cb?x=1", "http://[::1]:65535/cb?x=1", true],
      ["http://localhost/cb", "http://localhost:8080/cb", true],
      ["http://127.0.0.1/cb", "http://127.0.0.1:0/cb", false],
      ["http://127.0.0.1", "http://127.0.0.1:8080/", false],
      ["https://127.0.0.1/cb", "https://127.0.0.1:8080/cb", false],
    ];
    for (const [registered, requested, isTaken] of rows) {
      await setup.owner.api.updateApplicationClient({
        params: { id: setup.clientId },
        body: { redirect_uris: [registered] },
      });
      const request = await pendingAuthorization(await discover(setup));
      request.url.searchParams.set("redirect_uri", requested);
      if (!isTaken) {
        expect((await fetch(request.url, { redirect: "manual" })).status, requested).toBe(422);
        continue;
      }
      const { location, code } = await codeFor(request);
      expect(location.href.startsWith(new URL(requested).href)).toBe(true);
      const redeem = async (redirect_uri: string) =>
        (
          await postForm(setup, "token", {
            grant_type: "authorization_code",
            code,
            code_verifier: request.verifier,
            redirect_uri,
            client_id: setup.clientId,
            client_secret: setup.clientSecret,
          })
        ).status;
      expect([await redeem(registered), await redeem(requested)]).toEqual([400, 200]);
    }
  });
});
