import { describe, expect, it } from "vitest";
import { AppError, notFound } from "../../src/platform/errors.js";
import { References } from "../../src/platform/references.js";

const ADA = { kind: "user", id: "ada" } as const;
const references = new References();
references.provide("network", ({ id }, network) => {
  if (id !== "ada" || network !== "hers") throw notFound("network");
});
references.provide("contract", () => {
  throw new AppError("data_corrupt", { message: "damaged" });
});
const codeOf = (run: () => void): unknown => {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.message, error.details[0]?.path];
    throw error;
  }
  return "accepted";
};

describe("ids in a body", () => {
  it("pass when they exist for the caller, or name nothing", () => {
    for (const body of [{}, { network_id: null }, { network_id: "hers", destination_network_id: "hers" }])
      expect(
        codeOf(() => {
          references.require(ADA, body, ["network_id", "destination_network_id"]);
        }),
      ).toBe("accepted");
  });

  it("are 404 with the member's name when they are absent or another's", () => {
    expect(
      codeOf(() => {
        references.require(ADA, { network_id: "hers", destination_network_id: "x" }, [
          "network_id",
          "destination_network_id",
        ]);
      }),
    ).toEqual(["not_found", "destination_network_id: network not found", "destination_network_id"]);
    expect(
      codeOf(() => {
        references.require({ kind: "user", id: "eve" }, { network_id: "hers" }, ["network_id"]);
      }),
    ).toEqual(["not_found", "network_id: network not found", "network_id"]);
  });

  it("do not hide another failure of a look-up", () => {
    expect(
      codeOf(() => {
        references.require(ADA, { contract_id: "c" }, ["contract_id"]);
      }),
    ).toEqual(["data_corrupt", "damaged", undefined]);
  });
});
