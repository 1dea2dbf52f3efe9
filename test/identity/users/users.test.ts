/** Signing up, and which users a caller may see: nobody sees the users of another tenant. */
import { Compile } from "typebox/compile";
import { beforeEach, describe, expect, it } from "vitest";
import { CreateUserBody, User, UserDetail } from "../../../src/identity/schemas.js";
import { NEW_USER_PERMISSIONS, PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { ADDRESS, PASSWORD, codeOf, openHarness, retryAfterOf, signUp, subjectOf, type Harness } from "../support.js";

let harness: Harness;

beforeEach(async () => {
  harness = await openHarness();
});

function principal(subject: Subject, permissions = NEW_USER_PERMISSIONS): Principal {
  return { subject, permissions, tokenId: crypto.randomUUID(), sessionId: crypto.randomUUID(), expiresAtSec: 0 };
}

function create(
  changes: Partial<{ email: string; first_name: string; last_name: string; password: string }>,
  address = ADDRESS,
) {
  return harness.identity.services.users.create(
    { email: "ada@example.com", first_name: "Ada", last_name: "Lovelace", password: PASSWORD, ...changes },
    address,
  );
}

describe("signing up", () => {
  it("returns the user with every member that clients know", async () => {
    const user = await create({ email: " Ada@Example.com" });
    expect(user).toEqual({
      id: user.id,
      created_at: "2026-05-04T10:00:00.000Z",
      name: "Ada Lovelace",
      first_name: "Ada",
      last_name: "Lovelace",
      email: "ada@example.com",
      permissions: NEW_USER_PERMISSIONS,
      privacy_policy_agreed_at: null,
      terms_of_service_agreed_at: null,
    });
    expect(Compile(User).Check(user)).toBe(true);
  });

  it("gives bits 0x19F and the vault's, and none that reaches other users", () => {
    expect(NEW_USER_PERMISSIONS & 0xffff).toBe(0x19f);
    expect(NEW_USER_PERMISSIONS >>> 16).toBe(0xf);
  });

  it("stores no password, only an Argon2id hash apart from the user", async () => {
    const user = await create({});
    const everything = JSON.stringify(harness.store.range([]));
    expect(everything).not.toContain(PASSWORD);
    expect(JSON.stringify(harness.store.get(["user", user.id]))).not.toContain("argon2");
    expect(everything).toContain("$argon2id$v=19$");
  });

  it.each(["ada@example.com", "ADA@EXAMPLE.COM ", "ａda@example.com"])(
    "refuses the taken e-mail spelled %j",
    async (email) => {
      await create({});
      expect(await codeOf(() => create({ email }))).toBe("email_taken");
    },
  );

  it("many times at once with one e-mail address creates one user", async () => {
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(() => create({}))));
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(codes.filter((code) => code === "email_taken")).toHaveLength(19);
    expect(
      harness.identity.services.users.list(principal({ kind: "user", id: "x" }, PERMISSIONS.user_list), {
        page: 1,
        rpp: 100,
      }).total,
    ).toBe(1);
  });

  it.each([
    [{ email: "not an address" }, "invalid_email"],
    [{ password: "short" }, "weak_password"],
    [{ password: "Password123!" }, "weak_password"],
    [{ password: "ada@example.com" }, "weak_password"],
  ])("refuses %j with %s", async (changes, code) => {
    expect(await codeOf(() => create(changes))).toBe(code);
    expect(harness.store.range([])).toEqual([]);
  });

  it("is limited to 10 per hour and address, counted over a restart, and not for other addresses", async () => {
    harness = await harness.restart({ signupsPerHourMax: 10 });
    for (let i = 0; i < 9; i++) await create({ email: `user${i}@example.com` });
    expect(await codeOf(() => create({ email: "user0@example.com" }))).toBe("email_taken");
    harness = await harness.restart();
    harness.clock.advanceSec(600);
    expect(await retryAfterOf(() => create({ email: "new@example.com" }))).toBe(3000);
    expect(await codeOf(() => create({ email: "new@example.com" }, "192.0.2.2"))).toBe("ok");
    harness.clock.advanceSec(3000);
    expect(await codeOf(() => create({ email: "newer@example.com" }))).toBe("ok");
  });

  it("in parallel does not pass the limit", async () => {
    harness = await harness.restart({ signupsPerHourMax: 10 });
    const codes = await Promise.all(
      Array.from({ length: 40 }, (_, i) => codeOf(() => create({ email: `user${i}@example.com` }))),
    );
    expect(codes.filter((code) => code === "ok")).toHaveLength(10);
    expect(codes.filter((code) => code === "too_many_requests")).toHaveLength(30);
  });

  it("rejects what exceeds the limit of concurrent hashes", async () => {
    harness = await harness.restart({ hashGate: { concurrencyMax: 1, queueLengthMax: 3 } });
    const codes = await Promise.all(
      Array.from({ length: 30 }, (_, i) => codeOf(() => create({ email: `user${i}@example.com` }))),
    );
    expect(codes.filter((code) => code === "ok")).toHaveLength(4);
    expect(codes.filter((code) => code === "too_many_requests")).toHaveLength(26);
    expect(
      await retryAfterOf(async () =>
        Promise.all(Array.from({ length: 30 }, (_, i) => create({ email: `again${i}@example.com` }))),
      ),
    ).toBe(1);
  });

  it("rejects members that assign permissions or identity", () => {
    const check = Compile(CreateUserBody);
    const body = { email: "a@b.co", first_name: "A", last_name: "B", password: PASSWORD };
    expect(check.Check(body)).toBe(true);
    for (const member of ["id", "user_id", "application_id", "vault_id", "email_verified", "epoch", "__proto__x"]) {
      expect(check.Check({ ...body, [member]: 1 }), member).toBe(false);
    }
  });

  it("rejects permissions in the request of an ordinary caller, and stores nothing", async () => {
    expect(
      await codeOf(() =>
        harness.identity.services.users.create(
          {
            email: "ada@example.com",
            first_name: "A",
            last_name: "B",
            password: PASSWORD,
            permissions: PERMISSIONS.read,
          },
          ADDRESS,
        ),
      ),
    ).toBe("permission_escalation");
    expect(harness.store.range(["user"])).toEqual([]);
  });

  it.each(["", " Ada", "Ada ", "A\nda", "A\u0000", "\ud800", "x".repeat(101)])(
    "takes no first name %j",
    (first_name) => {
      expect(Compile(CreateUserBody).Check({ email: "a@b.co", first_name, last_name: "B", password: PASSWORD })).toBe(
        false,
      );
    },
  );
});

describe("seeing users", () => {
  it("shows a user itself, with metadata in the detail", async () => {
    const ada = await signUp(harness, "ada@example.com");
    const detail = harness.identity.services.users.get(principal(subjectOf(ada)), ada.id);
    expect(detail).toEqual({
      ...ada,
      metadata: {
        user_id: ada.id,
        name: "Ada Lovelace",
        email: "ada@example.com",
        email_verified: false,
        app_metadata: { ident_user_id: ada.id },
        user_metadata: {},
      },
    });
    expect(Compile(UserDetail).Check(detail)).toBe(true);
    expect(harness.identity.services.users.list(principal(subjectOf(ada)), { page: 1, rpp: 25 })).toEqual({
      users: [ada],
      total: 1,
    });
    expect(harness.identity.services.users.list(principal(subjectOf(ada)), { page: 2, rpp: 25 })).toEqual({
      users: [],
      total: 1,
    });
  });

  it("answers for another user's id exactly as for one that does not exist", async () => {
    const ada = await signUp(harness, "ada@example.com");
    const eve = await signUp(harness, "eve@example.com");
    const answers = [ada.id, crypto.randomUUID()].map((id) => {
      try {
        return harness.identity.services.users.get(principal(subjectOf(eve)), id);
      } catch (error) {
        return JSON.stringify(
          error,
          Object.getOwnPropertyNames(error).filter((name) => name !== "stack"),
        );
      }
    });
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toContain("not_found");
  });

  it.each(["application", "organization"] as const)(
    "shows no user to an %s, even one with a user's id",
    async (kind) => {
      const ada = await signUp(harness, "ada@example.com");
      const asker = principal({ kind, id: ada.id });
      expect(await codeOf(() => harness.identity.services.users.get(asker, ada.id))).toBe("not_found");
      expect(harness.identity.services.users.list(asker, { page: 1, rpp: 25 })).toEqual({ users: [], total: 0 });
    },
  );

  it.each(["user_list", "sudo"] as const)("shows all to a holder of %s, oldest first, by pages", async (name) => {
    const created = [];
    for (let i = 0; i < 5; i++) {
      created.push(await signUp(harness, `user${i}@example.com`));
      harness.clock.ms += 1;
    }
    const asker = principal({ kind: "user", id: crypto.randomUUID() }, PERMISSIONS[name]);
    expect(harness.identity.services.users.list(asker, { page: 1, rpp: 3 })).toEqual({
      users: created.slice(0, 3),
      total: 5,
    });
    expect(harness.identity.services.users.list(asker, { page: 2, rpp: 3 })).toEqual({
      users: created.slice(3),
      total: 5,
    });
    expect(harness.identity.services.users.get(asker, created[2]!.id)).toMatchObject({ id: created[2]!.id });
  });
});
