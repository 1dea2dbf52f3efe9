import { describe, expect, it } from "vitest";
import { PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { requireSaidOwner, saidOwner, type RequireTenant } from "../../../src/platform/auth/said-owner.js";
import { AppError, notFound } from "../../../src/platform/errors.js";

const ADA = "00000000-0000-4000-8000-000000000001";
const EVE = "00000000-0000-4000-8000-000000000002";
const SHOP = "00000000-0000-4000-8000-00000000000a";
const ENGINES = "00000000-0000-4000-8000-00000000000b";
const FOREIGN = "00000000-0000-4000-8000-00000000000f";

const principal = (subject: Subject, actingUserId?: string): Principal => ({
  subject,
  permissions: PERMISSIONS.read | PERMISSIONS.create,
  tokenId: "",
  sessionId: "",
  expiresAtSec: 0,
  ...(actingUserId === undefined ? {} : { actingUserId }),
});
const ada = principal({ kind: "user", id: ADA });
const shop = principal({ kind: "application", id: SHOP }, ADA);
/** Ada may create in the shop and read in the organization. */
const requireTenant: RequireTenant = ({ subject }, { kind, id }, permissions) => {
  if (subject.id !== ADA || id === FOREIGN) throw notFound(kind);
  if (id === ENGINES && !permissions.every((name) => name === "read"))
    throw new AppError("forbidden", { message: "this needs create" });
};
const needs = { permissions: ["create"], requireTenant } as const;
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.details[0]?.path];
  }
  return "accepted";
};

describe("the owner that a body says", () => {
  it("is the caller when it says nothing or the caller itself", () => {
    for (const said of [{}, { user_id: ADA }, { user_id: null, application_id: null, organization_id: null }])
      expect(saidOwner(ada, said, needs)).toEqual(ada.subject);
    for (const said of [{}, { application_id: SHOP }, { application_id: SHOP, user_id: ADA }])
      expect(saidOwner(shop, said, needs)).toEqual(shop.subject);
  });

  it("is an application or organization that the caller may act for", () => {
    expect(saidOwner(ada, { user_id: ADA, application_id: SHOP }, needs)).toEqual({ kind: "application", id: SHOP });
    expect(codeOf(() => saidOwner(ada, { organization_id: ENGINES }, needs))).toEqual(["forbidden", undefined]);
  });

  it.each([
    ["user_id", ada, { user_id: EVE }],
    ["application_id", ada, { application_id: FOREIGN }],
    ["organization_id", ada, { application_id: SHOP, organization_id: FOREIGN }],
    ["user_id", shop, { user_id: EVE }],
    ["application_id", shop, { application_id: FOREIGN }],
    ["organization_id", shop, { application_id: SHOP, organization_id: ENGINES }],
  ] as const)("is 404 at %s for what is another's", (path, caller, said) => {
    expect(codeOf(() => saidOwner(caller, said, needs))).toEqual(["not_found", path]);
    expect(
      codeOf(() => {
        requireSaidOwner(caller, said, requireTenant);
      }),
    ).toEqual(["not_found", path]);
  });

  it("only has to be visible where the thing stays the caller's", () => {
    expect(
      codeOf(() => {
        requireSaidOwner(ada, { user_id: ADA, application_id: SHOP, organization_id: ENGINES }, requireTenant);
      }),
    ).toBe("accepted");
  });

  it("needs the permissions of the caller, too", () => {
    expect(codeOf(() => saidOwner(ada, {}, { permissions: ["delete"], requireTenant }))).toEqual([
      "forbidden",
      undefined,
    ]);
  });
});
