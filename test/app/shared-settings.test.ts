/** What the nodes of a cluster compare when one joins. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedSettings } from "../../src/app/shared-settings.js";
import type { SettingValues } from "../../src/platform/cluster/members/member-settings.js";
import { loadConfig, type Config } from "../../src/platform/config.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { folderOfTest } from "../support/temporary-folder.js";

const ENV = {
  PROOFWRIGHT_DATABASE_URL: "postgres://proofwright:a-secret@localhost/proofwright",
  PROOFWRIGHT_MODE: "production",
  SEAL_UNSEAL_PROVIDER: "environment",
};
const ISSUER = { issuer: "https://issuer.test", jwks_url: "https://issuer.test/keys", audience: "here" };

function configOf(env: Readonly<Record<string, string>>): Config {
  return loadConfig({ flags: {}, env: { ...ENV, ...env } });
}

async function shared(env: Readonly<Record<string, string>>): Promise<SettingValues> {
  const { fixed, changeable } = await sharedSettings(configOf(env), "server");
  return { ...fixed, ...changeable };
}

function issuers(name: string, text: string): string {
  const path = join(folderOfTest(name), "issuers.json");
  writeFileSync(path, text);
  return path;
}

describe("the settings that nodes compare", () => {
  it.each([
    ["PROOFWRIGHT_CONFIRM_EMAIL", "ask"],
    ["PROOFWRIGHT_RATE_LIMITS", "false"],
    ["PROOFWRIGHT_EGRESS_ALLOW", "10.0.0.0/8"],
    ["PROOFWRIGHT_EGRESS_PORTS", "443"],
    ["PROOFWRIGHT_GITHUB_URL", "https://github.test"],
    ["PROOFWRIGHT_DOCKER_IMAGES", "redis:*"],
    ["PROVER_PROVIDER_ALIASES", "gnark:circom"],
    ["PROOFWRIGHT_ISSUER", "https://a.test"],
  ])("tell that %s differs, and no other", async (setting, value) => {
    const [usual, other] = [await shared({}), await shared({ [setting]: value })];
    expect(Object.keys(usual).filter((name) => usual[name] !== other[name])).toEqual([setting]);
  });

  it("are alike where two say the same in other words", async () => {
    const [one, other] = [
      await shared({
        PROOFWRIGHT_EGRESS_ALLOW: "10.0.0.0/8, 192.168.1.1",
        PROOFWRIGHT_EGRESS_PORTS: "443,80",
        PROOFWRIGHT_MAIL_URL: "smtp://mail.test",
        PROOFWRIGHT_TRUSTED_ISSUERS: issuers("issuers-one", JSON.stringify([ISSUER])),
        PROOFWRIGHT_GITHUB_URL: "https://github.test/",
      }),
      await shared({
        PROOFWRIGHT_EGRESS_ALLOW: "192.168.1.1,10.0.0.0/8",
        PROOFWRIGHT_EGRESS_PORTS: "80, 443",
        PROOFWRIGHT_CONFIRM_EMAIL: "ask",
        PROOFWRIGHT_TRUSTED_ISSUERS: issuers("issuers-other", JSON.stringify([ISSUER], null, 2)),
        PROOFWRIGHT_GITHUB_URL: "https://github.test",
      }),
    ];
    expect(one).toEqual(other);
  });

  it("tell whom files of trusted issuers name, and refuse one that cannot be read", async () => {
    const path = issuers("issuers", JSON.stringify([ISSUER]));
    const wider = issuers("issuers-wider", JSON.stringify([{ ...ISSUER, create_users: true }]));
    const [none, one, other] = [
      await shared({}),
      await shared({ PROOFWRIGHT_TRUSTED_ISSUERS: path }),
      await shared({ PROOFWRIGHT_TRUSTED_ISSUERS: wider }),
    ].map((settings) => settings["PROOFWRIGHT_TRUSTED_ISSUERS"]);
    expect([none, one, other]).toEqual([
      "",
      expect.stringMatching(/^a file of SHA-256 [0-9a-f]{64}$/),
      expect.stringMatching(/^a file of SHA-256 [0-9a-f]{64}$/),
    ]);
    expect(one).not.toBe(other);
    const broken = shared({ PROOFWRIGHT_TRUSTED_ISSUERS: issuers("issuers-broken", "{") });
    await expect(broken).rejects.toThrow("cannot be read as JSON");
  });

  it("are of a worker those alone that its work depends on, and no secrets of anybody", async () => {
    const [worker, server] = [await sharedSettings(configOf({}), "worker"), await shared({})];
    expect(worker.changeable).toEqual({});
    expect(Object.keys(worker.fixed)).toEqual([
      ...["PROOFWRIGHT_ISSUER", "PROOFWRIGHT_SIGNING_ALGORITHM", "PROOFWRIGHT_EVENTS_MAX", "PROOFWRIGHT_EVENTS_DAYS"],
      ...["PROOFWRIGHT_EVENT_CONFIRMATIONS", "PROOFWRIGHT_ARTIFACTS_URL"],
    ]);
    const specs = Object.values(SETTINGS).filter(({ env }) => Object.hasOwn(server, env));
    expect(specs).toHaveLength(Object.keys(server).length);
    expect(specs.filter((spec) => "secret" in spec && spec.secret)).toEqual([]);
    expect(JSON.stringify(server)).not.toContain("a-secret");
  });
});
