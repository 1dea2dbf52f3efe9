import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalizeEmail } from "../../../src/identity/users/email.js";

describe("e-mail normaliser", () => {
  it.each([
    "Ada@Example.com",
    " ada@example.com",
    "ada@example.com\t",
    "ADA@EXAMPLE.COM",
    "ａｄａ@example.com",
    "ada@ｅｘａｍｐｌｅ.com",
    "ada@example。com",
    "\u00a0ada@example.com\u3000",
    "ada＠example.com",
    "ⓐda@example.com",
    "𝐚da@example.com",
  ])("reads %j as one account", (text) => {
    expect(normalizeEmail(text)).toBe("ada@example.com");
  });

  it("reads composed and decomposed letters, and both forms of a domain, as one", () => {
    expect(normalizeEmail("jose\u0301@bücher.example")).toBe(normalizeEmail("jos\u00e9@xn--bcher-kva.example"));
  });

  it.each([
    "a@b.co",
    "first.last+tag@sub.example.org",
    "o'neil@example.com",
    "用户@例子.广告",
    `${"a".repeat(64)}@example.com`,
  ])("takes %j", (text) => {
    expect(normalizeEmail(text)).toBeDefined();
  });

  it.each([
    "",
    " ",
    "a",
    "@",
    "a@",
    "@example.com",
    "a@b",
    "a@@b.co",
    "a@b@c.co",
    "a b@c.co",
    "a@b c.co",
    ".a@b.co",
    "a.@b.co",
    "a..b@c.co",
    "a@-b.co",
    "a@b-.co",
    "a@b..co",
    "a@.b.co",
    "a@b.co.",
    "a@127.0.0.1",
    "a@[127.0.0.1]",
    '"a b"@c.co',
    "a\u0000@b.co",
    "a\n@b.co",
    "a@b.co\nBcc: c@d.co",
    "<a@b.co>",
    "a@b.co, c@d.co",
    "\ud800@b.co",
    "a@b.c\u200bo x",
    "a@localhost",
    "a@b.1",
    `${"a".repeat(65)}@example.com`,
  ])("refuses %j", (text) => {
    expect(normalizeEmail(text)).toBeUndefined();
  });

  it("takes 254 characters and refuses 255", () => {
    const domain = `${`${"d".repeat(61)}.`.repeat(3)}com`;
    const local = "a".repeat(64);
    expect(normalizeEmail(`${local}@${domain}`)?.length).toBe(254);
    expect(normalizeEmail(`${local}@e${domain}`)).toBeUndefined();
  });

  it("is idempotent", () => {
    const letter = fc
      .integer({ min: 0x21, max: 0x1ffff })
      .map((code) => String.fromCodePoint(code))
      .filter((text) => /[\p{L}\p{N}\p{M}]/u.test(text));
    const part = fc.string({ unit: letter, minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(part, part, (local, domain) => {
        const once = normalizeEmail(`${local}@${domain}.example`);
        if (once !== undefined) expect(normalizeEmail(once)).toBe(once);
      }),
      { numRuns: 5000, seed: 20_260_504 },
    );
  });
});
