import { describe, expect, it } from "vitest";
import { TrustedProxies } from "../../../src/platform/net/client-address.js";

const proxies = new TrustedProxies(["10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48"]);

describe("the client's address", () => {
  it.each([
    ["an untrusted peer's header is not believed", "198.51.100.9", "203.0.113.7", "198.51.100.9"],
    ["a trusted peer without the header is the client", "10.1.2.3", undefined, "10.1.2.3"],
    ["one proxy names the client", "10.1.2.3", "203.0.113.7", "203.0.113.7"],
    [
      "what the client wrote itself stands further left and is passed over",
      "10.1.2.3",
      "127.0.0.1, 10.9.9.9, 203.0.113.7",
      "203.0.113.7",
    ],
    [
      "a chain of trusted proxies is walked from the right",
      "10.1.2.3",
      "203.0.113.7, 192.0.2.1,10.4.4.4",
      "203.0.113.7",
    ],
    ["a chain of nothing but proxies ends at its first", "10.1.2.3", "10.7.7.7, 10.4.4.4", "10.7.7.7"],
    ["IPv6 with a port", "10.1.2.3", "[2001:db8:2::7]:4711", "2001:db8:2::7"],
    ["IPv4 with a port", "10.1.2.3", "203.0.113.7:4711", "203.0.113.7"],
    ["an IPv6 proxy, as the socket spells it", "2001:0db8:0001:0000:0000:0000:0000:0005", "203.0.113.7", "203.0.113.7"],
    ["garbage ends the walk at the last hop that was one", "10.1.2.3", "203.0.113.7, unknown, 10.4.4.4", "10.4.4.4"],
    ["an empty header names nobody", "10.1.2.3", "", "10.1.2.3"],
    ["the network's neighbour is no proxy", "11.0.0.1", "203.0.113.7", "11.0.0.1"],
  ])("%s", (_, peer, forwarded, client) => {
    expect(proxies.clientOf(peer, forwarded)).toBe(client);
  });

  it("is the peer's where no proxy is trusted", () => {
    expect(new TrustedProxies([]).clientOf("127.0.0.1", "203.0.113.7")).toBe("127.0.0.1");
  });

  it.each(["10.0.0.0/33", "2001:db8::/129", "10.0.0", "proxy.example"])("refuses the entry %s", (entry) => {
    expect(() => new TrustedProxies([entry])).toThrow(entry);
  });
});
