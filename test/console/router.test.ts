/** What the console makes of the part of its address behind the #, which anybody may write into a link. */
import { expect, it } from "vitest";

interface RouterModule {
  readonly readPlace: (hash: string) => { readonly words: readonly string[]; readonly query: URLSearchParams };
}

/** Its types are those of browsers, which the tests of the server do not have. */
async function router(): Promise<RouterModule> {
  const path = new URL("../../src/console/browser/parts/router.ts", import.meta.url).pathname;
  return (await import(path)) as RouterModule;
}

it("is words and a query", async () => {
  const { words, query } = (await router()).readPlace("#/provers/a%20b/prove?page=2");
  expect(words).toEqual(["provers", "a b", "prove"]);
  expect(query.get("page")).toBe("2");
});

it.each([
  ["#/provers/%E0%A4%A", ["provers", "%E0%A4%A"]],
  ["#/vaults/../users/./x", ["vaults", "users", "x"]],
  ["#/vaults/%2e%2e/%2E/x", ["vaults", "x"]],
])("%s shows a room, and makes no call of another route", async (hash, words) => {
  expect((await router()).readPlace(hash).words).toEqual(words);
});
