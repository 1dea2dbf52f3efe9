/** The tree of routes: literals before parameters, a way back, methods of a path. */
import { describe, expect, it } from "vitest";
import { Router, isFound } from "../../../src/platform/http/router.js";

const router = new Router<string>();
router.add("GET", "/users/:id", "user");
router.add("GET", "/users/me", "me");
router.add("DELETE", "/users/:id", "delete user");
router.add("GET", "/users/:user_id/keys/:id", "key");
router.add("POST", "/users/me/keys", "my keys");

function find(method: "GET" | "POST" | "PUT" | "DELETE", path: string): unknown {
  const found = router.find(method, path.split("/").slice(1));
  return isFound(found) ? [found.value, found.params] : [...found].sort();
}

describe("finding routes", () => {
  it("prefers a literal and names parameters as the route does", () => {
    expect(find("GET", "/users/me")).toEqual(["me", {}]);
    expect(find("GET", "/users/7")).toEqual(["user", { id: "7" }]);
    expect(find("GET", "/users/7/keys/8")).toEqual(["key", { user_id: "7", id: "8" }]);
  });

  it("goes back to the parameter where the literal leads nowhere", () => {
    expect(find("GET", "/users/me/keys/8")).toEqual(["key", { user_id: "me", id: "8" }]);
    expect(find("DELETE", "/users/me")).toEqual(["delete user", { id: "me" }]);
  });

  it("tells the methods of a known path, and none of an unknown one", () => {
    expect(find("PUT", "/users/me")).toEqual(["DELETE", "GET"]);
    expect(find("GET", "/users")).toEqual([]);
    expect(find("GET", "/nothing")).toEqual([]);
    expect(find("GET", "/toString")).toEqual([]);
  });

  it("does not take one route twice", () => {
    expect(() => {
      router.add("GET", "/users/:other", "again");
    }).toThrow("two routes answer GET /users/:other");
  });
});
