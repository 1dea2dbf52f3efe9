import { describe, expect, it } from "vitest";
import { accountThrottleKey, addressNetwork, addressThrottleKey } from "../../../src/identity/login/throttle-keys.js";

describe("throttle keys", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::ffff:c000:207", "192.0.2.7"],
    ["0000:0000:0000:0000:0000:ffff:c000:0207", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:0db8:0001:0002:ffff:ffff:ffff:ffff", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["::1", "0:0:0:0"],
    ["::", "0:0:0:0"],
    ["", ""],
    ["not an address", "not an address"],
  ])("counts %j as %j", (address, network) => {
    expect(addressNetwork(address)).toBe(network);
  });

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
