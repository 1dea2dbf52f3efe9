/** Malformed OAuth requests get the errors of OAuth. SOURCE: RFC 6749 section 5.2. */
import { describe, expect, it } from "vitest";
import { postForm, setUpOAuth } from "./support.js";

const setup = setUpOAuth();

describe("a malformed OAuth request", () => {
  it("without a required member gets invalid_request", async () => {
    const secret = { client_id: setup.clientId, client_secret: setup.clientSecret };
    const empty = await fetch(`${setup.harness.url}/api/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([empty.status, ((await empty.json()) as { error: string }).error]).toEqual([400, "invalid_request"]);
    for (const path of ["introspect", "revoke"]) {
      expect(await postForm(setup, path, secret), path).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });
      expect(await postForm(setup, path, {}), path).toMatchObject({ status: 401, body: { error: "invalid_client" } });
      expect(await postForm(setup, path, { ...secret, token: "x".repeat(10_000) }), path).toMatchObject({
        status: 200,
      });
    }
  });

  it("with a malformed body gets invalid_request and a description", async () => {
    const text = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
      token: "x",
    }).toString();
    const [asForm, asJson] = ["application/x-www-form-urlencoded", "application/json"];
    const bodies: [string, string, RegExp][] = [
      [asForm, `${text}&client_id=${setup.clientId}`, /more than once/],
      [asForm, `${text}&scope=read&scope=read`, /more than once/],
      [asForm, `${text}&unknown=1&unknown=1`, /more than once/],
      [asForm, `${text}&token_type_hint=${"x".repeat(201)}&scope=${"x".repeat(257)}`, /must have at most/],
      [asForm, `${text}&scope=%ff`, /./],
      [asJson, "{", /malformed JSON/],
      [asJson, '{"client_id":1}', /expected a string/],
      [asJson, '{"client_id":"a","client_id":"a"}', /given twice/],
      [asJson, "[]", /expected/],
    ];
    for (const path of ["token", "introspect", "revoke"]) {
      for (const [type, body, said] of bodies) {
        const answer = await fetch(`${setup.harness.url}/api/v1/oauth/${path}`, {
          method: "POST",
          headers: { "content-type": type },
          body,
        });
        expect([answer.status, answer.headers.get("content-type"), await answer.json()], `${path} ${body}`).toEqual([
          400,
          "application/json; charset=UTF-8",
          { error: "invalid_request", error_description: expect.stringMatching(said) as string },
        ]);
      }
    }
    // The login form is no OAuth endpoint: a malformed request gets 422, and never a redirect.
    const login = await fetch(`${setup.harness.url}/api/v1/oauth/authorize`, {
      method: "POST",
      headers: { "content-type": asForm },
      body: "email=a&email=a",
    });
    expect([login.status, ((await login.json()) as { errors: { code: string }[] }).errors[0]?.code]).toEqual([
      422,
      "invalid_request",
    ]);
  });
});
