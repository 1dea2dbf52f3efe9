// A real server with an automatic seal provider: unsealed at start, and serving without a vault while the provider does
// not answer.
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer } from "../../support/server.js";
import { awsKms, VendorDouble } from "../../vault/seal/providers/vendor-doubles.js";
import { newFolder } from "../../support/temporary-folder.js";

const KEY = "alias/proofwright";
let folder: string;
let double: VendorDouble;
beforeAll(async () => {
  folder = newFolder("provider");
  double = await new VendorDouble(awsKms(KEY)).listen();
});
afterAll(async () => {
  await double.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = async (timeoutSec = 30) =>
  await startServer({
    dataDir: folder,
    env: {
      SEAL_UNSEAL_PROVIDER: "aws_kms",
      SEAL_UNSEAL_KMS_KEY_ID: KEY,
      SEAL_UNSEAL_KMS_REGION: "eu-central-1",
      SEAL_UNSEAL_ENDPOINT: double.url,
      SEAL_UNSEAL_TIMEOUT_SECONDS: String(timeoutSec),
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "example",
    },
  });

it("unseals by itself, and says why when it cannot, while login and lists go on", async () => {
  let server = await start();
  const { api, email, password } = await server.newUser();
  const vault = (await api.createVault({ body: { name: "v" } })).body.id;
  const secret = (await api.createSecret({ params: { id: vault }, body: { name: "n", type: "t", value: "kept" } })).body
    .id;
  expect(await server.end()).toBe(0);

  const honest = double.behaviour;
  double.behaviour = () => "hang";
  server = await start(1);
  expect(server.output()).toContain("The vault is sealed: the seal provider aws_kms did not answer within 1 s.");
  expect((await server.anonymous.getSealStatus()).body).toEqual({
    sealed: true,
    provider: "aws_kms",
    initialised: true,
  });
  const again = server.as((await server.anonymous.authenticate({ body: { email, password } })).body.token.access_token);
  await expect(again.getSecret({ params: { id: vault, secret_id: secret } })).rejects.toMatchObject({ status: 503 });
  expect((await again.listProvers({ query: {} })).body).toEqual([]);
  await server.dispose();

  double.behaviour = honest;
  server = await start();
  const back = server.as((await server.anonymous.authenticate({ body: { email, password } })).body.token.access_token);
  expect((await back.getSecret({ params: { id: vault, secret_id: secret } })).body.value).toBe("kept");
  await server.dispose();
});
