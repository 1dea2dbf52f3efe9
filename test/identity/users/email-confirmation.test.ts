/** Confirmed e-mail addresses, and the mails that tell an owner what was changed. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { IdentityOptions } from "../../../src/identity/create-identity.js";
import { openHttpHarness, outcome, type HttpHarness, type IdentityApi } from "../http-support.js";
import { PASSWORD } from "../support.js";

const ADA = "ada@example.com";
const NEW = "new@example.com";
const NEW_PASSWORD = "another long phrase";
const NAMES = { first_name: "Ada", last_name: "Lovelace" };

let harness: HttpHarness;
afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

async function open(emailConfirmation?: IdentityOptions["emailConfirmation"]): Promise<void> {
  harness = await openHttpHarness(emailConfirmation === undefined ? {} : { emailConfirmation });
}

const signUp = async (email = ADA) =>
  (await harness.anonymous.createUser({ body: { email, password: PASSWORD, ...NAMES } })).body;
const ask = async (email = ADA): Promise<void> => {
  await harness.anonymous.requestEmailConfirmation({ body: { email } });
};
const confirm = async (token: string | undefined): Promise<string> =>
  outcome(harness.anonymous.confirmEmail({ params: { token: token ?? "none" } }));
const metadata = async (api: IdentityApi, id: string) => (await api.getUser({ params: { id } })).body.metadata;
/** Subjects of the mails to an address. */
const subjects = async (to: string): Promise<string[]> => {
  await harness.identity.services.outbox.idle();
  return harness.mails.filter((mail) => mail.to === to).map(({ subject }) => subject);
};

describe("an address, by default", () => {
  it("blocks nothing, gets no mail unasked, and is confirmed once with a mailed token", async () => {
    await open();
    const ada = await harness.newUser(ADA);
    expect(await subjects(ADA)).toEqual([]);
    expect((await metadata(ada.api, ada.id)).email_verified).toBe(false);
    await ask(" ADA@example.com");
    const token = await harness.mailedToken(ADA);
    expect(await confirm(token)).toBe("ok");
    expect((await metadata(ada.api, ada.id)).email_verified).toBe(true);
    expect(await harness.isAlive(ada.token)).toBe(true);
    expect(await confirm(token)).toBe("422 confirmation_token_invalid");
    expect(JSON.stringify(harness.store.range([]))).not.toContain(token);
    await ask();
    await ask("nobody@example.com");
    expect(await subjects(ADA)).toHaveLength(1);
  });

  it("is confirmed by the newest token only, within a day, and by no token of another kind", async () => {
    await open();
    await signUp();
    await ask();
    const first = await harness.mailedToken(ADA);
    await ask();
    const second = await harness.mailedToken(ADA);
    expect(await confirm(first)).toBe("422 confirmation_token_invalid");
    await harness.anonymous.requestPasswordReset({ body: { email: ADA } });
    const reset = await harness.mailedToken(ADA);
    expect(await confirm(reset)).toBe("422 confirmation_token_invalid");
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: second! }, body: { password: NEW_PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    harness.clock.advanceSec(24 * 3600);
    expect(await confirm(second)).toBe("422 confirmation_token_invalid");
  });

  it("cannot be brought back by a token that was mailed to it before a change", async () => {
    await open();
    const ada = await harness.newUser(ADA);
    await ask();
    const old = await harness.mailedToken(ADA);
    await ada.api.updateUser({ params: { id: ada.id }, body: { email: NEW } });
    expect(await confirm(old)).toBe("422 confirmation_token_invalid");
    expect(await metadata(ada.api, ada.id)).toMatchObject({ email: NEW, email_verified: false });
    await ask(NEW);
    expect(await confirm(await harness.mailedToken(NEW))).toBe("ok");
  });

  it("gets a mail after a sign-up and a change where mails are sent by themselves", async () => {
    await open("ask");
    const ada = await harness.newUser(ADA);
    expect(await subjects(ADA)).toEqual(["Confirm your e-mail address"]);
    await ada.api.updateUser({ params: { id: ada.id }, body: { email: NEW } });
    expect(await subjects(NEW)).toEqual(["Confirm your e-mail address"]);
    expect(await confirm(await harness.mailedToken(NEW))).toBe("ok");
  });
});

describe("an address that must be confirmed", () => {
  it("opens no session before, whatever the path, and says so after the right password only", async () => {
    await open("require");
    await signUp();
    expect(await harness.logIn(ADA, "a wrong guess")).toBe("401 invalid_credentials");
    expect(await harness.logIn(ADA, PASSWORD)).toBe("403 email_unconfirmed");
    expect(await confirm(await harness.mailedToken(ADA))).toBe("ok");
    expect(await harness.logIn(ADA, PASSWORD)).toBe("ok");
  });

  it("is confirmed by a password reset, an invitation, and for the first administrator by the operator", async () => {
    await open("require");
    await signUp();
    await harness.anonymous.requestPasswordReset({ body: { email: ADA } });
    await harness.identity.services.outbox.idle();
    const token = harness.mails.flatMap(({ text }) => /^ {2}(ppr_\S+)$/m.exec(text)?.[1] ?? [])[0]!;
    await harness.anonymous.resetPassword({ params: { token }, body: { password: NEW_PASSWORD } });
    expect(await harness.logIn(ADA, NEW_PASSWORD)).toBe("ok");
    await harness.identity.services.users.create(
      { email: "root@example.com", password: PASSWORD, ...NAMES },
      "192.0.2.1",
      { permissions: 3, skipsHourlyLimit: true },
    );
    expect(await harness.logIn("root@example.com", PASSWORD)).toBe("ok");
  });

  it("replaces the present one only when it is confirmed, and both are told", async () => {
    await open("require");
    await signUp();
    await confirm(await harness.mailedToken(ADA));
    const { body } = await harness.anonymous.authenticate({ body: { email: ADA, password: PASSWORD } });
    const api = harness.as(body.token.access_token);
    const { id } = body.user;
    await harness.anonymous.requestPasswordReset({ body: { email: ADA } });
    const reset = await harness.mailedToken(ADA);
    await api.updateUser({ params: { id }, body: { email: NEW, first_name: "Augusta" } });
    expect(await metadata(api, id)).toMatchObject({ email: ADA, email_verified: true, name: "Augusta Lovelace" });
    expect((await subjects(ADA)).at(-1)).toBe("Your account was changed");
    expect(await harness.logIn(NEW, PASSWORD)).toBe("401 invalid_credentials");
    expect(await confirm(await harness.mailedToken(NEW))).toBe("ok");
    expect(await metadata(api, id)).toMatchObject({ email: NEW, email_verified: true });
    expect((await subjects(ADA)).slice(-2)).toEqual(["Your account was changed", "Your account was changed"]);
    expect([await harness.logIn(ADA, PASSWORD), await harness.logIn(NEW, PASSWORD)]).toEqual([
      "401 invalid_credentials",
      "ok",
    ]);
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: reset! }, body: { password: NEW_PASSWORD } })),
    ).toBe("422 reset_token_invalid");
  });

  it("stays the new one when it is confirmed while another change of the account is on its way", async () => {
    await open("require");
    await signUp();
    await confirm(await harness.mailedToken(ADA));
    const { body } = await harness.anonymous.authenticate({ body: { email: ADA, password: PASSWORD } });
    const api = harness.as(body.token.access_token);
    await api.updateUser({ params: { id: body.user.id }, body: { email: NEW } });
    const waiting = await harness.mailedToken(NEW);
    const principal = await harness.identity.authenticate(body.token.access_token);
    const commit = harness.store.commit.bind(harness.store);
    const confirmed: string[] = [];
    const spy = vi.spyOn(harness.store, "commit").mockImplementationOnce(async (change) => {
      confirmed.push(await confirm(waiting));
      await commit(change);
    });
    const change = { email: ADA, first_name: "Augusta", password: NEW_PASSWORD };
    await harness.identity.services.userChanges.update(principal, body.user.id, change, "192.0.2.1");
    spy.mockRestore();
    expect(confirmed).toEqual(["ok"]);
    expect([await harness.logIn(ADA, NEW_PASSWORD), await harness.logIn(NEW, NEW_PASSWORD)]).toEqual([
      "401 invalid_credentials",
      "ok",
    ]);
    expect(await subjects(NEW)).toEqual(["Confirm your e-mail address", "Your account was changed"]);
  });

  it("is dropped by a new password, and refused when another user has it or got it first", async () => {
    await open("require");
    for (const email of [ADA, "bob@example.com"]) {
      await signUp(email);
      await confirm(await harness.mailedToken(email));
    }
    const { body } = await harness.anonymous.authenticate({ body: { email: ADA, password: PASSWORD } });
    const api = harness.as(body.token.access_token);
    const change = async (email: string): Promise<string> =>
      outcome(api.updateUser({ params: { id: body.user.id }, body: { email, password: PASSWORD } }));
    expect(await change("bob@example.com")).toBe("409 email_taken");
    expect(await harness.isAlive(body.token.access_token)).toBe(true);
    await api.updateUser({ params: { id: body.user.id }, body: { email: NEW } });
    const waiting = await harness.mailedToken(NEW);
    await signUp(NEW);
    expect(await confirm(waiting)).toBe("409 email_taken");
    await api.updateUser({ params: { id: body.user.id }, body: { password: NEW_PASSWORD } });
    expect(await confirm(waiting)).toBe("422 confirmation_token_invalid");
  });
});

describe("the mails about a change", () => {
  it("go to the address from before, and name what changed and no new address", async () => {
    await open();
    const ada = await harness.newUser(ADA);
    await ada.api.updateUser({ params: { id: ada.id }, body: { first_name: "Augusta" } });
    expect(await subjects(ADA)).toEqual([]);
    await ada.api.updateUser({ params: { id: ada.id }, body: { email: NEW, password: NEW_PASSWORD } });
    expect(await subjects(ADA)).toEqual(["Your account was changed"]);
    expect(harness.mails[0]?.text).toMatch(/new password[^]*another e-mail address/);
    expect(harness.mails[0]?.text).not.toContain(NEW);
    expect(await subjects(NEW)).toEqual([]);
  });

  it("tell of a password that was reset", async () => {
    await open();
    await signUp();
    await harness.anonymous.requestPasswordReset({ body: { email: ADA } });
    const token = (await harness.mailedToken(ADA))!;
    await harness.anonymous.resetPassword({ params: { token }, body: { password: NEW_PASSWORD } });
    expect(await subjects(ADA)).toEqual(["Reset your password", "Your account was changed"]);
  });
});

describe("a reset token", () => {
  it("dies with a newer one, with a new password, and with a new address", async () => {
    await open();
    const ada = await harness.newUser(ADA);
    const request = async (email: string): Promise<string> => {
      await harness.anonymous.requestPasswordReset({ body: { email } });
      return (await harness.mailedToken(email))!;
    };
    const reset = async (token: string): Promise<string> =>
      outcome(harness.anonymous.resetPassword({ params: { token }, body: { password: NEW_PASSWORD } }));
    const first = await request(ADA);
    const second = await request(ADA);
    expect(await reset(first)).toBe("422 reset_token_invalid");
    await ada.api.updateUser({ params: { id: ada.id }, body: { email: NEW } });
    expect(await reset(second)).toBe("422 reset_token_invalid");
    const third = await request(NEW);
    await ada.api.updateUser({ params: { id: ada.id }, body: { password: PASSWORD } });
    expect(await reset(third)).toBe("422 reset_token_invalid");
    expect(await reset(await request(NEW))).toBe("ok");
  });
});

describe("deleting one's own account", () => {
  it("needs the password with a personal token and what is derived from one, and nothing more with a login", async () => {
    await open();
    const ada = await harness.newUser(ADA);
    const personal = (await ada.api.createPersonalToken({ body: { name: "script" } })).body.access_token;
    const derived = (await harness.as(personal).createToken({ body: {} })).body.access_token;
    const remove = async (token: string, body?: { current_password: string }): Promise<string> =>
      outcome(harness.as(token).deleteUser({ params: { id: ada.id }, ...(body === undefined ? {} : { body }) }));
    expect([await remove(personal), await remove(derived)]).toEqual(["403 forbidden", "403 forbidden"]);
    expect(await remove(personal, { current_password: "a wrong guess" })).toBe("401 invalid_credentials");
    expect(await harness.isAlive(ada.token)).toBe(true);
    expect(await remove(personal, { current_password: PASSWORD })).toBe("ok");
    const bob = await harness.newUser("bob@example.com");
    expect(await outcome(bob.api.deleteUser({ params: { id: bob.id } }))).toBe("ok");
  });
});
