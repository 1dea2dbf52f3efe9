import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigError, describeSettings, loadConfig, parseAddress } from "../../src/platform/config.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const HASH = "0x69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac";

const folder = newFolder("config");
let files = 0;
afterAll(() => {
  removeFolder(folder);
});

function configFile(content: string): string {
  const path = join(folder, `config-${String((files += 1))}.json`);
  writeFileSync(path, content);
  return path;
}

function sentence(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("the configuration was accepted");
}

describe("configuration", () => {
  it("serves on loopback in development mode when nothing is configured", () => {
    const config = loadConfig({ flags: {}, env: {} });
    expect(config).toMatchObject({ mode: "development", host: "127.0.0.1", port: 8080, data_dir: "data" });
    expect(config.prove_threads).toBeGreaterThan(0);
  });

  it("refuses an access log whose lines the log level would leave out", () => {
    const env = { PROOFWRIGHT_ACCESS_LOG: "true" };
    expect(loadConfig({ flags: {}, env }).access_log).toBe(true);
    expect(sentence(() => loadConfig({ flags: { "log-level": "warn" }, env }))).toContain("needs the log level info");
  });

  it("keeps the metrics of development mode on loopback", () => {
    const flags = { "metrics-host": "0.0.0.0" };
    expect(sentence(() => loadConfig({ flags, env: {} }))).toContain("listens on loopback only");
    expect(loadConfig({ flags, env: { SEAL_UNSEAL_VALIDATION_HASH: HASH } }).metrics_host).toBe("0.0.0.0");
  });

  it("uses the address it listens on as issuer in development, and the configured issuer everywhere", () => {
    expect(loadConfig({ flags: {}, env: {} }).issuer).toBe("http://127.0.0.1:8080");
    expect(loadConfig({ flags: { host: "::1", port: "9" }, env: {} }).issuer).toBe("http://[::1]:9");
    expect(loadConfig({ flags: { port: "0" }, env: {} }).issuer).toBe("https://proofwright.local");
    expect(loadConfig({ flags: {}, env: { SEAL_UNSEAL_VALIDATION_HASH: HASH } }).issuer).toBe(
      "https://proofwright.local",
    );
    expect(loadConfig({ flags: { issuer: "https://proofs.example" }, env: {} }).issuer).toBe("https://proofs.example");
  });

  it("prefers a flag to the environment and the environment to the file", () => {
    const file = configFile('{"port": 1, "host": "::1", "log_level": "debug"}');
    const config = loadConfig({
      flags: { port: "3" },
      env: { PROOFWRIGHT_PORT: "2", PROOFWRIGHT_LOG_LEVEL: "warn" },
      file,
    });
    expect(config).toMatchObject({ port: 3, log_level: "warn", host: "::1" });
  });

  it("takes the config file's path from the environment", () => {
    expect(loadConfig({ flags: {}, env: { PROOFWRIGHT_CONFIG: configFile('{"port": 9000}') } }).port).toBe(9000);
  });

  it.each([
    ["a port that is no number", { env: { PROOFWRIGHT_PORT: "http" } }, "PROOFWRIGHT_PORT"],
    ["a port out of range", { flags: { port: "65536" } }, "--port"],
    ["an unknown variable", { env: { PROOFWRIGHT_PROT: "1" } }, "PROOFWRIGHT_PROT is not a setting"],
    ["an unknown seal variable", { env: { SEAL_UNSEAL_HASH: "1" } }, "SEAL_UNSEAL_HASH is not a setting"],
    ["an unknown flag", { flags: { prot: "1" } }, "--prot is not a setting"],
    ["a bad mode", { env: { PROOFWRIGHT_MODE: "test" } }, "must be development or production"],
    [
      "a validation hash of the wrong length",
      { env: { SEAL_UNSEAL_VALIDATION_HASH: "0x1234" } },
      "SEAL_UNSEAL_VALIDATION_HASH",
    ],
    ["half of a TLS pair", { env: { PROOFWRIGHT_TLS_CERT: "/tmp/c.pem" } }, "TLS needs both"],
    [
      "a TLS file that is not there",
      { env: { PROOFWRIGHT_TLS_CERT: "/nonexistent/c.pem", PROOFWRIGHT_TLS_KEY: "/nonexistent/k.pem" } },
      "/nonexistent/c.pem cannot be read",
    ],
    [
      "a proxy that is no address",
      { env: { PROOFWRIGHT_TRUSTED_PROXIES: "10.0.0.0/8,10.0.0" } },
      '"10.0.0" is neither an address nor a network',
    ],
    [
      "a seal key without its hash",
      { env: { SEAL_UNSEAL_KEY: "abandon art" } },
      "SEAL_UNSEAL_VALIDATION_HASH beside it",
    ],
  ])("stops the start with a sentence for %s", (_case, sources, expected) => {
    expect(sentence(() => loadConfig({ flags: {}, env: {}, ...(sources as object) }))).toContain(expected);
  });

  it.each([
    ["that is missing", "/nonexistent/config.json", "cannot be read"],
    ["that is not JSON", configFile("port=1"), "is not JSON"],
    ["that holds a list", configFile("[]"), "one JSON object"],
    ["with an unknown member", configFile('{"prot": 1}'), '"prot", which is not a setting'],
  ])("refuses a config file %s", (_case, file, expected) => {
    expect(sentence(() => loadConfig({ flags: {}, env: {}, file }))).toContain(expected);
  });

  it("takes `none` for the server that contributors' keys are read from, which an empty variable cannot say", () => {
    const of = (value: string): string => loadConfig({ flags: {}, env: { PROOFWRIGHT_GITHUB_URL: value } }).github_url;
    expect(["none", "", "https://git.test"].map(of)).toEqual(["none", "https://github.com", "https://git.test"]);
    expect(() => of("nobody")).toThrow("PROOFWRIGHT_GITHUB_URL");
  });

  it("refuses to listen beyond loopback in development mode, on any of its addresses", () => {
    expect(sentence(() => loadConfig({ flags: { host: "0.0.0.0" }, env: {} }))).toContain("loopback only");
    expect(sentence(() => loadConfig({ flags: { "vault-listen": "[::]:9000" }, env: {} }))).toContain("loopback only");
    expect(loadConfig({ flags: { host: "0.0.0.0" }, env: { SEAL_UNSEAL_VALIDATION_HASH: HASH } }).mode).toBe(
      "production",
    );
  });

  it("is in production mode under NODE_ENV=production", () => {
    expect(loadConfig({ flags: {}, env: { NODE_ENV: "production" } }).mode).toBe("production");
  });

  it("never repeats a secret in a message", () => {
    const key = "zebra ".repeat(300);
    expect(sentence(() => loadConfig({ flags: {}, env: { SEAL_UNSEAL_KEY: key } }))).not.toContain("zebra");
  });

  it("describes every setting in the help text", () => {
    const help = describeSettings();
    for (const { flag, env } of Object.values(SETTINGS)) expect(help).toMatch(new RegExp(`--${flag}=[^]*${env}`));
  });

  it("splits addresses with IPv6 hosts", () => {
    expect(parseAddress("[::1]:80")).toEqual({ host: "::1", port: 80 });
    expect(parseAddress("localhost:8081")).toEqual({ host: "localhost", port: 8081 });
  });
});
