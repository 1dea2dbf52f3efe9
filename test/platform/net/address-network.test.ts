import { describe, expect, it } from "vitest";
import { addressNetwork } from "../../../src/platform/net/address-network.js";

describe("the network of an address", () => {
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
  ])("of %j is %j", (address, network) => {
    expect(addressNetwork(address)).toBe(network);
  });
});
