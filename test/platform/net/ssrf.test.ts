// T30: some 250 spellings of places inside, a resolver that changes its mind, and redirects, against servers that must
// never be reached.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AllowList, isPublicAddress } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard, type EgressGuard, type ResolvedAddress } from "../../../src/platform/net/egress-guard.js";
import { AppError } from "../../../src/platform/errors.js";

let trap: Server;
let trapPort: number;
let open: Server;
let openPort: number;
let hits = 0;
const guards: EgressGuard[] = [];

beforeAll(async () => {
  trap = createServer((_request, response) => {
    hits += 1;
    response.end("{}");
  });
  trap.on("connection", () => {
    hits += 1;
  });
  trapPort = await listen(trap, "127.0.0.1");
  open = createServer((request, response) => {
    const kind = (request.url ?? "").slice(1);
    if (kind === "redirect") response.writeHead(302, { location: `http://127.0.0.1:${String(trapPort)}/` }).end();
    else if (kind === "long") response.end(Buffer.alloc(2 * 1024 * 1024));
    else if (kind === "trickle") response.write("{");
    else if (kind === "headers") response.writeHead(200, { "x-long": "a".repeat(20_000) }).end();
    else if (kind === "cut")
      response.writeHead(200, { "content-length": "100" }).write("half", () => {
        response.destroy();
      });
    else response.end(JSON.stringify({ host: request.headers.host, method: request.method }));
  });
  openPort = await listen(open, "127.0.0.2");
});
afterAll(() => {
  for (const guard of guards) guard.close();
  for (const server of [trap, open]) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  hits = 0;
});

async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** A guard for which the trap's port is an ordinary one: only the address can keep it away. */
function guard(
  options: { allow?: readonly string[]; names?: Readonly<Record<string, readonly (readonly string[])[]>> } = {},
): { guard: EgressGuard; asked: string[] } {
  const asked: string[] = [];
  const made = createEgressGuard(
    { allow: new AllowList(options.allow ?? []), ports: [443, 8545, trapPort] },
    {
      resolve: (host): Promise<ResolvedAddress[]> => {
        const turns = options.names?.[host] ?? [["127.0.0.1"]];
        const turn = turns[Math.min(asked.filter((name) => name === host).length, turns.length - 1)] ?? [];
        asked.push(host);
        return Promise.resolve(turn.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
      },
    },
  );
  guards.push(made);
  return { guard: made, asked };
}

const INSIDE_V4 = [
  "127.0.0.1",
  "127.0.0.2",
  "127.1.2.3",
  "127.255.255.255",
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "10.255.255.255",
  "100.64.0.1",
  "100.100.100.200",
  "100.127.255.255",
  "169.254.169.254",
  "169.254.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "192.168.255.255",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.9",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
];
const INSIDE_V6 = [
  "::",
  "::1",
  "0:0:0:0:0:0:0:1",
  "fe80::1",
  "febf::1",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "fdff::1",
  "ff02::1",
  "2001::1",
  "2001:db8::1",
  "2001:20::1",
  "2002:7f00:1::",
  "3fff::1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "100::1",
  "5f00::1",
  "4000::1",
];

/** The same address as WHATWG's parser and resolvers take it: decimal, hexadecimal, octal, short, mixed. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const mapped = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  return [
    address,
    `${address}.`,
    String(number),
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    `0x${a.toString(16)}.${String(b)}.0${c.toString(8)}.${String(d)}`,
    `${String(a)}.${String(b * 65_536 + c * 256 + d)}`,
    `[::ffff:${address}]`,
    `[::ffff:${mapped}]`,
    `[64:ff9b::${mapped}]`,
    `[2002:${mapped}::]`,
    `[::${mapped}]`,
  ];
}

function corpus(): string[] {
  const port = String(trapPort);
  const byAddress = [...INSIDE_V4.flatMap(spellings), ...INSIDE_V6.map((address) => `[${address}]`)].map(
    (host) => `https://${host}:${port}/`,
  );
  const names = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "printer.local",
    "metadata.google.internal",
    "router.lan",
    "home.arpa",
    "x.home.arpa",
    "intranet",
    "metadata",
    "kubernetes.default.svc.cluster.local",
    "１２７.0.0.1",
    "127。0。0。1",
    "ⓛocalhost",
    "rebind.example.com",
    "mixed.example.com",
  ];
  const odd = [
    `https://user@public.example.com:${port}/`,
    `https://user:secret@127.0.0.1:${port}/`,
    `https://public.example.com@127.0.0.1:${port}/`,
    `https://@127.0.0.1:${port}/`,
    `https:\\\\127.0.0.1:${port}\\`,
    `https:127.0.0.1:${port}`,
    `https://127.0.0.1:${port}#@public.example.com/`,
    `https://127.0.0.1:${port}?@public.example.com/`,
    `https://127.0.0.1\t:${port}/`,
    ` https://127.0.0.1:${port}/`,
    `http://public.example.com:${port}/`,
    `http://127.0.0.1:${port}/`,
    `http://[::1]:${port}/`,
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    `ftp://127.0.0.1:${port}/`,
    `ws://127.0.0.1:${port}/`,
    "data:text/plain,x",
    "javascript:1",
    "unix:/var/run/docker.sock",
    "//127.0.0.1/",
    "127.0.0.1",
    "",
    "https://",
    "https://[::1",
    "https://public.example.com:22/",
    "https://public.example.com:6379/",
    "https://public.example.com:0/",
    "https://public.example.com:65536/",
    `https://%31%32%37.0.0.1:${port}/`,
    `https://127.0.0.1%00.example.com:${port}/`,
    `https://127.0.0.1%2f.example.com:${port}/`,
    `https://a..b:${port}/`,
    `https://${"a".repeat(300)}.example.com:${port}/`,
    `https://x.example.com/${"a".repeat(3_000)}`,
  ];
  return [...byAddress, ...names.map((name) => `https://${name}:${port}/`), ...odd];
}

describe("addresses", () => {
  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "223.255.255.255",
    "168.63.129.17",
    "2606:4700::1111",
    "2a00::1",
    "2001:200::1",
  ])("lets %s through", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([...INSIDE_V4, ...INSIDE_V6, "::ffff:8.8.8.8", "64:ff9b::808:808", "fe80::1%eth0", "nonsense", ""])(
    "keeps %s inside",
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );
});

describe("the guard, for any URL of a user", () => {
  it("rejects internal addresses in more than 200 spellings", async () => {
    const names = { "rebind.example.com": [["127.0.0.1"]], "mixed.example.com": [["93.184.216.34", "127.0.0.1"]] };
    const { guard: guarded } = guard({ names });
    const urls = corpus();
    expect(urls.length).toBeGreaterThan(200);
    for (const url of urls) {
      const outcome = await guarded.fetch(url, { timeoutMs: 1_000 }).then(
        () => "fetched",
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
      expect(outcome, url).toBe("egress_refused");
    }
    expect(hits).toBe(0);
  });

  it("opens no TCP connection to internal addresses either", async () => {
    const { guard: guarded } = guard();
    for (const host of [
      "127.0.0.1",
      "::1",
      "::ffff:127.0.0.1",
      "2130706433",
      "0x7f000001",
      "localhost",
      "any.example.com",
      "a@127.0.0.1",
      "127.0.0.1/x",
      "10.0.0.1#",
    ]) {
      await expect(guarded.connect({ host, port: trapPort }), host).rejects.toMatchObject({ code: "egress_refused" });
    }
    expect(hits).toBe(0);
  });

  it("opens a connection for listed targets to no other target, whatever its port and address", async () => {
    const { guard: guarded } = guard({
      allow: ["127.0.0.2/32"],
      names: { "public.example.com": [["93.184.216.34"]], "listed.example.com": [["127.0.0.2"]] },
    });
    for (const [host, port] of [
      ["public.example.com", 443],
      ["93.184.216.34", 443],
      ["93.184.216.34", 80],
      ["127.0.0.1", trapPort],
    ] as const) {
      await expect(guarded.connect({ host, port, isListedOnly: true }), host).rejects.toMatchObject({
        code: "egress_refused",
      });
    }
    const socket = await guarded.connect({ host: "listed.example.com", port: openPort, isListedOnly: true });
    expect(socket.remoteAddress).toBe("127.0.0.2");
    socket.destroy();
    expect(hits).toBe(0);
  });

  it("connects to the address that it checked, whatever the name resolves to afterwards", async () => {
    const { guard: guarded, asked } = guard({
      allow: ["127.0.0.2/32"],
      names: { "rebind.example.com": [["127.0.0.2"], ["127.0.0.1"]] },
    });
    const answer = await guarded.fetch(`http://rebind.example.com:${String(openPort)}/`);
    expect(JSON.parse(Buffer.from(answer.body).toString())).toEqual({
      host: `rebind.example.com:${String(openPort)}`,
      method: "GET",
    });
    expect(asked).toEqual(["rebind.example.com"]);
    const again = await guarded.fetch(`http://rebind.example.com:${String(openPort)}/`);
    // The second one used the checked connection, or asked again and was refused; here it is kept.
    expect(again.isNewConnection).toBe(false);
    await expect(guarded.connect({ host: "rebind.example.com", port: openPort })).rejects.toMatchObject({
      code: "egress_refused",
    });
    expect(hits).toBe(0);
  });

  it("follows no redirect", async () => {
    const { guard: guarded } = guard({ allow: ["127.0.0.2/32"] });
    const answer = await guarded.fetch(`http://127.0.0.2:${String(openPort)}/redirect`);
    expect(answer.status).toBe(302);
    expect(hits).toBe(0);
  });
});

describe("the operator's list", () => {
  it.each([["127.0.0.1"], ["127.0.0.0/8"], ["localhost"], ["[::1]:1", "127.0.0.1"]])(
    "reaches it by %s",
    async (...allow) => {
      const { guard: guarded } = guard({ allow });
      const host = allow.includes("localhost") ? "localhost" : "127.0.0.1";
      expect((await guarded.fetch(`http://${host}:${String(trapPort)}/`)).status).toBe(200);
    },
  );

  it("keeps to the port of an entry", async () => {
    const { guard: guarded } = guard({ allow: [`127.0.0.1:${String(trapPort + 1)}`] });
    await expect(guarded.fetch(`http://127.0.0.1:${String(trapPort)}/`)).rejects.toMatchObject({
      code: "egress_refused",
    });
    expect(hits).toBe(0);
  });

  it.each(["10.0.0.0/33", "300.1.1.1", "a b", "host:0", "host:70000", "::1/129", "http://x"])(
    "refuses the entry %s",
    (entry) => {
      expect(() => new AllowList([entry])).toThrow(RangeError);
    },
  );
});

describe("a misbehaving peer", () => {
  const ask = async (path: string): Promise<unknown> =>
    await guard({ allow: ["127.0.0.2"] }).guard.fetch(`http://127.0.0.2:${String(openPort)}/${path}`, {
      timeoutMs: 500,
    });

  it.each([
    ["long", "egress_answer_too_large"],
    ["trickle", "egress_timeout"],
    ["headers", "egress_unreachable"],
    ["cut", "egress_unreachable"],
  ])("that is %s is %s", async (path, code) => {
    await expect(ask(path)).rejects.toMatchObject({ code });
  });

  it("is egress_unreachable when nothing listens", async () => {
    await expect(
      guard({ allow: ["127.0.0.3"] }).guard.fetch(`http://127.0.0.3:${String(trapPort)}/`),
    ).rejects.toMatchObject({ code: "egress_unreachable" });
  });

  it("is left when the caller aborts, with the caller's reason", async () => {
    const reason = new Error("enough");
    await expect(
      guard({ allow: ["127.0.0.2"] }).guard.fetch(`http://127.0.0.2:${String(openPort)}/trickle`, {
        signal: AbortSignal.abort(reason),
      }),
    ).rejects.toBe(reason);
  });
});
