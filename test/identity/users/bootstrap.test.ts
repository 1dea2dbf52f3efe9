/** The first administrator: by the token in the private file, and in no other way. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ADMINISTRATOR_PERMISSIONS, NEW_USER_PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness } from "../http-support.js";
import { ADDRESS, PASSWORD } from "../support.js";
import { folderOfTest } from "../../support/temporary-folder.js";

let harness: HttpHarness;

beforeEach(async () => {
  harness = await openHttpHarness();
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

describe("the first administrator", () => {
  it("is made with the token in a private file, once, within an hour, when there are no users", async () => {
    const { bootstrap } = harness.identity.services;
    const path = join(folderOfTest("bootstrap"), "bootstrap-token");
    expect(await bootstrap.offer(path)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const first = readFileSync(path, "utf8").trim();
    expect(await bootstrap.offer(path)).toBe(true);
    const token = readFileSync(path, "utf8").trim();
    const body = { email: "root@example.com", first_name: "R", last_name: "T", password: PASSWORD };
    expect(await outcome(harness.as(first).createUser({ body }))).toBe("401 unauthorized");
    expect(await outcome(harness.as(token).createUser({ body: { ...body, password: "short" } }))).toBe(
      "422 weak_password",
    );
    expect((await harness.as(token).createUser({ body })).body.permissions).toBe(ADMINISTRATOR_PERMISSIONS);
    expect(await outcome(harness.as(token).createUser({ body: { ...body, email: "second@example.com" } }))).toBe(
      "401 unauthorized",
    );
    expect(await bootstrap.offer(path)).toBe(false);
  });

  it("gets one token from the nodes of a cluster that start at once", async () => {
    const { bootstrap } = harness.identity.services;
    const folder = folderOfTest("bootstrap");
    const paths = ["a", "b", "c"].map((name) => join(folder, name));
    const offered = await Promise.all(paths.map(async (path) => await bootstrap.offer(path, { isAlone: false })));
    expect(offered.filter(Boolean)).toHaveLength(1);
    expect(paths.map((path) => existsSync(path))).toEqual(offered);
    const token = readFileSync(paths[offered.indexOf(true)] ?? "", "utf8").trim();
    const body = { email: "root@example.com", first_name: "R", last_name: "T", password: PASSWORD };
    expect((await harness.as(token).createUser({ body })).body.permissions).toBe(ADMINISTRATOR_PERMISSIONS);
  });

  it("is not the first to sign up, and the token expires after an hour", async () => {
    const path = join(folderOfTest("bootstrap"), "bootstrap-token");
    await harness.identity.services.bootstrap.offer(path);
    harness.clock.advanceSec(3600);
    const body = { email: "root@example.com", first_name: "R", last_name: "T", password: PASSWORD };
    expect(await outcome(harness.as(readFileSync(path, "utf8").trim()).createUser({ body }))).toBe("401 unauthorized");
    expect((await harness.identity.services.users.create(body, ADDRESS)).permissions).toBe(NEW_USER_PERMISSIONS);
  });
});
