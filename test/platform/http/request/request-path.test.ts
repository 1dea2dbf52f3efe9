/** The one form of a path: what is forgiven, what is refused, and what segments come of it. */
import { describe, expect, it } from "vitest";
import { canonicalPath } from "../../../../src/platform/http/request/request-path.js";

describe("a path", () => {
  it.each([
    ["/", "/", []],
    ["/a", "/a", ["a"]],
    ["/a/", "/a", ["a"]],
    ["/a/b/", "/a/b", ["a", "b"]],
    ["/a%20b/c", "/a%20b/c", ["a b", "c"]],
    ["/%C3%A4", "/%C3%A4", ["\u00e4"]],
    ["/a:b@c", "/a:b@c", ["a:b@c"]],
    ["/...", "/...", ["..."]],
    [`/${"s/".repeat(16)}`, `/${Array<string>(16).fill("s").join("/")}`, Array<string>(16).fill("s")],
  ])("%s is %s", (url, path, segments) => {
    expect(canonicalPath(url)).toEqual({ path, segments });
  });

  it.each([
    "",
    "a",
    "//",
    "//a",
    "///a",
    "/a//",
    "/a//b",
    "/.",
    "/a/..",
    "/../a",
    "/a/./b",
    "/%2F",
    "/%5C",
    "/%00",
    "/%7F",
    "/%41",
    "/%c3%a4",
    "/%C3",
    "/%",
    "/%2",
    "/a b",
    "/\u00e4",
    "/a\\b",
    `/${"s/".repeat(17)}`,
  ])("%j is refused", (url) => {
    expect(canonicalPath(url)).toBeUndefined();
  });
});
