/** The operator's file of trusted issuers: what is read, and what is rejected. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTrustedIssuers } from "../../../src/platform/auth/external-issuers.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const ISSUER = "https://login.example.com/realm";

describe("the operator's list of issuers", () => {
  const read = async (content: unknown) => {
    const path = join(folderOfTest("issuers"), "issuers.json");
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return readTrustedIssuers(path);
  };
  const sound = { issuer: ISSUER, jwks_url: "https://login.example.com/jwks", audience: "proofwright" };

  it("is read", async () => {
    expect(await read([sound])).toEqual([sound]);
  });

  it.each([
    ["no JSON", "{"],
    ["another form", [{ issuer: ISSUER }]],
    ["an unknown member", [{ ...sound, secret: "x" }]],
    ["keys over plain HTTP", [{ ...sound, jwks_url: "http://login.example.com/jwks" }]],
    ["an issuer twice", [sound, sound]],
  ])("is refused with %s, in a sentence", async (_name, content) => {
    await expect(read(content)).rejects.toThrow(/issuers|jwks_url/);
  });
});
