/** The document that the build prepares for the server's program. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apiDocument } from "../../src/app/api-document.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

const PREPARED = join(PACKAGE_ROOT, "dist/openapi");

describe("the API's document", () => {
  it("is prepared by the build as the sources make it here, where nothing is prepared", () => {
    const names = readdirSync(PREPARED).sort();
    expect(names).toEqual([names[0], `${names[0] ?? ""}.br`]);
    const document = Buffer.from(apiDocument().bytes).toString("utf8");
    expect(JSON.parse(document)).toMatchObject({ openapi: "3.1.0", info: { title: "Proofwright" } });
    expect(readFileSync(join(PREPARED, names[0] ?? ""), "utf8")).toBe(document);
  });

  it("is the one that the build's program reads", () => {
    const reading = readdirSync(join(PACKAGE_ROOT, "dist/chunks"))
      .filter((name) => name.endsWith(".js"))
      .filter((name) =>
        readFileSync(join(PACKAGE_ROOT, "dist/chunks", name), "utf8").includes(
          `../openapi/${readdirSync(PREPARED).sort()[0]}`,
        ),
      );
    expect(reading).not.toHaveLength(0);
  });
});
