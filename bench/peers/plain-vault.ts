/**
 * What people write first for speed: a bare uWebSockets.js handler that signs inline, with its keys in memory. No
 * tokens, no schema, no seal, no check of its own signatures, and nothing else is served while it signs.
 *
 * POST /secp256k1, /Ed25519 and /AES-256-GCM take the bodies of the vault's routes and answer alike.
 */
import { createCipheriv, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { loadUwsLibrary } from "../../src/platform/http/drivers/uws-library.js";

const ecKey = secp256k1.utils.randomSecretKey();
const edKey = generateKeyPairSync("ed25519").privateKey;
const aesKey = randomBytes(32);

interface Body {
  readonly message: string;
  readonly data: string;
}
const ROUTES: Readonly<Record<string, (body: Body) => object>> = {
  secp256k1: ({ message }) => ({
    signature: Buffer.from(
      secp256k1.sign(Buffer.from(message, "hex"), ecKey, { prehash: false, format: "recovered" }),
    ).toString("hex"),
  }),
  Ed25519: ({ message }) => ({ signature: sign(null, Buffer.from(message, "hex"), edKey).toString("hex") }),
  "AES-256-GCM": ({ data }) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", aesKey, nonce);
    return {
      data: `0x${Buffer.concat([nonce, cipher.update(data, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("hex")}`,
    };
  },
};

const { App, us_socket_local_port } = loadUwsLibrary();
const app = App();
for (const [name, answer] of Object.entries(ROUTES)) {
  app.post(`/${name}`, (response) => {
    response.onAborted(() => undefined);
    const chunks: Buffer[] = [];
    response.onData((chunk, isLast) => {
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (!isLast) return;
      const text = JSON.stringify(answer(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Body));
      response.cork(() => {
        response.writeHeader("content-type", "application/json").end(text);
      });
    });
  });
}
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("no port");
  process.stdout.write(`Plain vault on http://127.0.0.1:${String(us_socket_local_port(socket))}\n`);
});
