/** The OAuth client that is built in for the command line: what it may do, and what nobody may do with it. */
import { describe, expect, it } from "vitest";
import { COMMAND_LINE_CLIENT_ID, COMMAND_LINE_NAME } from "../../../src/identity/oauth/command-line-client.js";
import { EMAIL, postForm, setUpOAuth, submitForm } from "./support.js";
import { PASSWORD } from "../support.js";

const setup = setUpOAuth();
/** SHA-256 of the verifier (RFC 7636, appendix B). */
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const REDIRECT = "http://127.0.0.1:50123/callback";

function page(members: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${setup.harness.url}/api/v1/oauth/authorize`);
  url.search = new URLSearchParams({
    ...{ response_type: "code", client_id: COMMAND_LINE_CLIENT_ID, redirect_uri: REDIRECT, state: "s" },
    ...{ scope: "read vault_unseal user_list sudo", code_challenge: CHALLENGE, code_challenge_method: "S256" },
    ...members,
  }).toString();
  return url;
}

describe("the client of the command line", () => {
  it("gets a token of the named scope, without rights of administrators, on any port of this machine", async () => {
    expect(await (await fetch(page())).text()).toContain(COMMAND_LINE_NAME);
    const answer = await submitForm(page(), { email: EMAIL, password: PASSWORD, decision: "allow" });
    const location = new URL(answer.headers.get("location")!);
    expect(location.href.startsWith(`${REDIRECT}?code=`)).toBe(true);
    const members = {
      ...{ grant_type: "authorization_code", client_id: COMMAND_LINE_CLIENT_ID, redirect_uri: REDIRECT },
      ...{ code: location.searchParams.get("code")!, code_verifier: VERIFIER },
    };
    expect(await postForm(setup, "token", members)).toMatchObject({ status: 200, body: { scope: "read" } });
    expect(await postForm(setup, "token", members), "the code again").toMatchObject({ status: 400 });
  });

  it("is sent back to no other address", async () => {
    for (const redirectUri of [
      "https://evil.example/callback",
      "http://127.0.0.1.evil.example/callback",
      "http://127.0.0.1:50123/",
      "http://localhost:50123/callback",
      "http://[::1]:50123/callback",
    ])
      expect((await fetch(page({ redirect_uri: redirectUri }), { redirect: "manual" })).status, redirectUri).toBe(422);
  });

  it("may not use the device flow, nor a grant of its own", async () => {
    const client = { client_id: COMMAND_LINE_CLIENT_ID };
    const device = await postForm(setup, "device_authorization", { ...client, scope: "read" });
    expect(device).toMatchObject({ status: 400, body: { error: "unauthorized_client" } });
    const own = await postForm(setup, "token", { ...client, grant_type: "client_credentials" });
    expect(own.status).toBeGreaterThanOrEqual(400);
  });

  it("cannot be changed or removed", async () => {
    const params = { id: COMMAND_LINE_CLIENT_ID };
    const { api } = setup.owner;
    const body = { redirect_uris: ["https://evil.example/"] };
    await expect(api.updateApplicationClient({ params, body })).rejects.toMatchObject({ status: 404 });
    await expect(api.deleteApplicationClient({ params })).rejects.toMatchObject({ status: 404 });
    await expect(api.createApplicationClientSecret({ params })).rejects.toMatchObject({ status: 404 });
  });
});
