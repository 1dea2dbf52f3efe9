/** The front over TLS, with a certificate made for the test. */
import { readFileSync, rmSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEARER, startFront, type Front } from "./support.js";
import { makeSelfSigned } from "../../support/self-signed.js";
import { newFolder } from "../../support/temporary-folder.js";

const folder = newFolder("front-tls");
const { certFile, keyFile } = makeSelfSigned(folder);
let front: Front;

beforeAll(async () => {
  front = await startFront({ server: { tls: { certFile, keyFile } } });
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
  rmSync(folder, { recursive: true });
});

async function get(
  path: string,
  options: https.RequestOptions = {},
): Promise<{ status: number | undefined; bytes: number; protocol: string | null }> {
  return await new Promise((resolve, reject) => {
    https
      .get(
        `https://127.0.0.1:${String(front.port)}${path}`,
        { ca: readFileSync(certFile), headers: BEARER, agent: false, ...options },
        (response) => {
          const { socket } = response;
          const protocol = socket instanceof tls.TLSSocket ? socket.getProtocol() : null;
          let bytes = 0;
          response.on("data", (chunk: Buffer) => {
            bytes += chunk.length;
          });
          response.on("end", () => {
            resolve({ status: response.statusCode, bytes, protocol });
          });
        },
      )
      .on("error", reject);
  });
}

describe("TLS", () => {
  it("serves over TLS 1.3", async () => {
    expect(await get("/api/v1/things")).toMatchObject({ status: 200, protocol: "TLSv1.3" });
  });

  it("streams a long answer", async () => {
    expect(await get("/api/v1/big?length=5000000")).toMatchObject({ status: 200, bytes: 5_000_002 });
  });

  it("refuses TLS 1.1", async () => {
    await expect(
      get("/api/v1/things", { maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" }),
    ).rejects.toThrow();
  });

  it("does not start with a certificate that is not there", async () => {
    await expect(startFront({ server: { tls: { certFile: join(folder, "none.pem"), keyFile } } })).rejects.toThrow();
  });
});
