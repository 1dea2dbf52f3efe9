// The seal's settings: what a start is refused for.
import { expect, it } from "vitest";
import { ConfigError, loadConfig } from "../../src/platform/config.js";

const PHRASE = `${"abandon ".repeat(23)}art`;
const HASH = "69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac";
const load = (env: Record<string, string>) => loadConfig({ flags: {}, env });

it("refuses a seal key in the environment with NODE_ENV=production, and takes it for trials", () => {
  expect(() => load({ NODE_ENV: "production", SEAL_UNSEAL_KEY: PHRASE, SEAL_UNSEAL_VALIDATION_HASH: HASH })).toThrow(
    /SEAL_UNSEAL_KEY is not allowed with NODE_ENV=production/,
  );
  try {
    load({ NODE_ENV: "production", SEAL_UNSEAL_KEY: PHRASE, SEAL_UNSEAL_VALIDATION_HASH: HASH });
  } catch (error) {
    expect((error as Error).message).not.toContain("abandon");
  }
  expect(load({ SEAL_UNSEAL_KEY: PHRASE, SEAL_UNSEAL_VALIDATION_HASH: HASH }).mode).toBe("production");
});

it("refuses a seal key in the environment with PROOFWRIGHT_MODE=production, too", () => {
  expect(() =>
    load({ PROOFWRIGHT_MODE: "production", SEAL_UNSEAL_KEY: PHRASE, SEAL_UNSEAL_VALIDATION_HASH: HASH }),
  ).toThrow(/SEAL_UNSEAL_KEY is not allowed with .*PROOFWRIGHT_MODE=production/);
});

it.each(["SEAL_UNSEAL_VALIDATION_HASH", "SEAL_UNSEAL_PROVIDER", "SEAL_UNSEAL_KEY", "SEAL_UNSEAL_KEY_SECRET_PATH"])(
  "refuses an empty %s, which must not start development mode",
  (variable) => {
    expect(() => load({ [variable]: "" })).toThrow(
      new ConfigError(`${variable} is set and empty. Give it a value, or remove it to start without it.`),
    );
    expect(() => load({ [variable]: "", NODE_ENV: "production" })).toThrow(ConfigError);
    expect(() => load({ [variable]: "", SEAL_UNSEAL_SECRET_NAME: "s" })).toThrow(ConfigError);
  },
);

it("takes other empty variables as absent", () => {
  expect(load({ PROOFWRIGHT_PORT: "" })).toMatchObject({ port: 8080, mode: "development" });
});

it("names the existing providers, and accepts their aliases", () => {
  for (const name of [
    "environment",
    "container_secret",
    "docker",
    "cloud_key_vault",
    "azure_key_vault",
    "aws_kms",
    "gcp_kms",
  ])
    expect(load({ SEAL_UNSEAL_PROVIDER: name })).toMatchObject({
      seal_unseal_provider: name,
      mode: "production",
      seal_unseal_secret_name: "_unsealerkey",
      seal_unseal_timeout_seconds: 10,
    });
  expect(() => load({ SEAL_UNSEAL_PROVIDER: "vault" })).toThrow(ConfigError);
});

it("accepts a provider's address without TLS on this machine only", () => {
  expect(load({ SEAL_UNSEAL_ENDPOINT: "http://127.0.0.1:8200" }).seal_unseal_endpoint).toBe("http://127.0.0.1:8200");
  expect(load({ SEAL_UNSEAL_ENDPOINT: "https://kms.example.com" }).seal_unseal_endpoint).toBe(
    "https://kms.example.com",
  );
  for (const endpoint of [
    "http://kms.example.com",
    "http://10.0.0.1:80",
    "ftp://127.0.0.1",
    "https://kms.example.com/path",
  ])
    expect(() => load({ SEAL_UNSEAL_ENDPOINT: endpoint })).toThrow(ConfigError);
});
