import { describe, expect, it } from "vitest";
import { accountThrottleKey, addressThrottleKey } from "../../../src/identity/login/throttle-keys.js";

describe("throttle keys", () => {
  it("tells networks apart", () => {
    expect(addressThrottleKey("2001:db8:1:2::1")).not.toBe(addressThrottleKey("2001:db8:1:3::1"));
    expect(addressThrottleKey("192.0.2.7")).not.toBe(addressThrottleKey("192.0.2.8"));
  });

  it("gives all spellings of an account one key, valid address or not, that reveals none of them", () => {
    expect(accountThrottleKey(" Ada@Example.com")).toBe(accountThrottleKey("ada@example.com"));
    expect(accountThrottleKey(" NOT AN ADDRESS")).toBe(accountThrottleKey("not an address"));
    expect(accountThrottleKey("ada@example.com")).toMatch(/^[0-9a-f]{32}$/);
  });
});
