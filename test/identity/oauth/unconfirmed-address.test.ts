/** The pages on which a user logs in, where a login needs a confirmed e-mail address. */
import { beforeEach, expect, it } from "vitest";
import { PASSWORD } from "../support.js";
import { discover, pendingAuthorization, postForm, setUpOAuth, submitForm } from "./support.js";

const BOB = "bob@example.com";
const UNCONFIRMED = "The e-mail address is not confirmed yet.";
const WRONG = "The e-mail address or the password is wrong.";
const setup = setUpOAuth({ emailConfirmation: "require" });

beforeEach(async () => {
  await setup.harness.anonymous.createUser({
    body: { email: BOB, password: PASSWORD, first_name: "Bob", last_name: "Boole" },
  });
});

async function confirm(): Promise<void> {
  const token = await setup.harness.mailedToken(BOB);
  await setup.harness.anonymous.confirmEmail({ params: { token: token ?? "none" } });
}

/** The page again, with this sentence and not the other, and with the address that was typed. */
async function expectAgain(answer: Response, sentence: string): Promise<void> {
  const html = await answer.text();
  expect([answer.status, answer.headers.get("content-type")], html).toEqual([401, "text/html; charset=UTF-8"]);
  expect([UNCONFIRMED, WRONG].filter((text) => html.includes(text))).toEqual([sentence]);
  expect(html).toContain(`value="${BOB}"`);
}

it("the login page says so after the right password only, and grants nothing before", async () => {
  const { url } = await pendingAuthorization(await discover(setup));
  const submit = async (password: string) => submitForm(url, { email: BOB, password, decision: "allow" });
  await expectAgain(await submit("a wrong guess"), WRONG);
  // Often enough to be blocked, if the right password counted as a failure.
  for (let i = 0; i < 6; i++) await expectAgain(await submit(PASSWORD), UNCONFIRMED);
  expect(setup.harness.store.range(["authorization_code"])).toEqual([]);
  await confirm();
  const granted = await submit(PASSWORD);
  expect([granted.status, new URL(granted.headers.get("location")!).searchParams.get("code")]).toEqual([
    303,
    expect.stringMatching(/^pac_/) as string,
  ]);
});

it("the page of the device flow says so too, and leaves the device waiting", async () => {
  await setup.owner.api.updateApplicationClient({
    params: { id: setup.clientId },
    body: { public: true, device_flow: true },
  });
  const { body } = await postForm(setup, "device_authorization", { client_id: setup.clientId });
  const submit = async (password: string) =>
    fetch(`${setup.harness.url}/device`, {
      method: "POST",
      body: new URLSearchParams({ user_code: String(body["user_code"]), email: BOB, password, decision: "allow" }),
    });
  await expectAgain(await submit("a wrong guess"), WRONG);
  await expectAgain(await submit(PASSWORD), UNCONFIRMED);
  await confirm();
  const decided = await submit(PASSWORD);
  expect([decided.status, await decided.text()]).toEqual([
    200,
    expect.stringContaining("The device is connected.") as string,
  ]);
});
