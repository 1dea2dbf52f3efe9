// RSA signatures over HTTP, with OpenSSL as the judge.
import { createPublicKey, verify as nodeVerify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

describe("RSA algorithms", () => {
  it("are PS256 when none is named, and otherwise the one that is", async () => {
    const { path: at, key } = await server.newKey("RSA-2048");
    const spki = createPublicKey({ key: Buffer.from(key["public_key"]!.slice(2), "hex"), format: "der", type: "spki" });
    const plain = String((await server.call("POST", `${at}/sign`, { message: "0102" })).body["signature"]);
    expect(
      nodeVerify(
        "sha256",
        Buffer.from("0102", "hex"),
        { key: spki, padding: 6, saltLength: 32 },
        Buffer.from(plain, "hex"),
      ),
    ).toBe(true);
    for (const algorithm of ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]) {
      const { signature } = (await server.call("POST", `${at}/sign`, { message: "0102", options: { algorithm } })).body;
      expect(
        (await server.call("POST", `${at}/verify`, { message: "0102", signature, options: { algorithm } })).body,
      ).toEqual({ verified: true });
      expect((await server.call("POST", `${at}/verify`, { message: "0102", signature })).body).toEqual({
        verified: algorithm === "PS256",
      });
      const pem = spki.export({ format: "pem", type: "spki" }).toString();
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: "RSA-2048",
            public_key: pem,
            message: "0102",
            signature,
            options: { algorithm },
          })
        ).body,
      ).toEqual({ verified: true });
      expect(
        code(
          await server.call("POST", "/api/v1/verify", {
            spec: "RSA-4096",
            public_key: pem,
            message: "0102",
            signature,
            options: { algorithm },
          }),
        ),
      ).toBe("public_key_invalid");
    }
    expect(code(await server.call("POST", `${at}/sign`, { message: "01", options: { algorithm: "ES256" } }))).toBe(
      "algorithm_unsupported",
    );
  });
});
