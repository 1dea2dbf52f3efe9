import { describe, expect, it } from "vitest";
import { findPasswordWeakness, normalizePassword } from "../../../src/identity/login/password-policy.js";

const EMAIL = "ada.lovelace@analytical.example";

function weakness(password: string, email = EMAIL): string | undefined {
  return findPasswordWeakness(normalizePassword(password), email);
}

describe("password policy", () => {
  it.each([
    "a long phrase of my own",
    "correct horse battery staple",
    "xK4!9pQz",
    "пароль от моей двери",
    "七つの海を渡る船乗り",
    "a secret for my lion den",
    "Tr0ub4dor&3",
    "mein lovelace gedicht von 1842",
    " leading and trailing ",
    "8h2k9d7s5f1g-lion",
  ])("takes %j", (password) => {
    expect(weakness(password)).toBeUndefined();
  });

  it("takes 8 and 128 characters, refuses 7 and 129", () => {
    const text = "k7#Qm2!x"
      .repeat(16)
      .split("")
      .map((character, index) => (index % 8 === 0 ? String.fromCodePoint(0x430 + index / 8) : character))
      .join("");
    expect(weakness(text.slice(0, 8))).toBeUndefined();
    expect(weakness(text)).toBeUndefined();
    expect(weakness(text.slice(0, 7))).toMatch(/8 to 128/);
    expect(weakness(`${text}y`)).toMatch(/8 to 128/);
  });

  it("counts characters, not UTF-16 units", () => {
    expect(weakness("🦉🐢🦊🐙")).toMatch(/8 to 128/);
    expect(weakness("🦉🐢🦊🐙🐝🐞🦋🐌")).toBeUndefined();
  });

  it.each([
    "password",
    "Password1",
    "P@ssw0rd",
    "p4ssw0rd!",
    "PASSWORD123",
    "12345678",
    "123456789",
    "87654321",
    "qwertyui",
    "qwerty123",
    "QwertyUiop",
    "1q2w3e4r",
    "1qaz2wsx",
    "zaq12wsx",
    "asdfghjkl",
    "abcdefgh",
    "aaaaaaaa",
    "abababab",
    "abcabcabc",
    "letmein1",
    "iloveyou!",
    "welcome2024",
    "Summer2024!",
    "Liverpool1",
    "princess99",
    "!!dragon!!",
    "ｐａｓｓｗｏｒｄ",
    "trustno1",
    "Sunshine7",
    "adminadmin",
    "starwars1",
    "football12",
  ])("refuses the common %j", (password) => {
    expect(weakness(password)).toMatch(/common/);
  });

  it.each([
    "ada.lovelace",
    "Ada.Lovelace1842",
    "ada.lovelace@analytical.example",
    "analytical.example",
    "Analytical1",
    "lovelace",
  ])("refuses %j, made from the e-mail address", (password) => {
    expect(weakness(password)).toMatch(/e-mail/);
  });
});
