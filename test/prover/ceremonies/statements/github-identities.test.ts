// Whose key signed a contribution, as a server like GitHub's says it: over real sockets, through the egress guard.
import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AllowList } from "../../../../src/platform/net/address-rules.js";
import { createEgressGuard, type EgressGuard } from "../../../../src/platform/net/egress-guard.js";
import { GithubIdentities } from "../../../../src/prover/ceremonies/statements/github-identities.js";
import { HeldClock } from "../../../platform/auth/support.js";
import { NodesInMemory } from "../../../support/nodes-in-memory.js";
import { signBySsh } from "../../../support/ssh-statements.js";
import { CeremonyGround } from "../support.js";

const [own, other] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
const keyOf = ({ privateKey, publicKey }: typeof own): string => signBySsh("", privateKey, publicKey).public_key;
/** What each name's address answers: a status and a body. */
const ANSWERS: Readonly<Record<string, readonly [number, string]>> = {
  "ada-l": [200, `ssh-rsa AAAAB3NzaC1yc2E= old\n${keyOf(own)}\n`],
  empty: [200, ""],
  renamed: [301, keyOf(own)],
  busy: [429, keyOf(own)],
  broken: [500, keyOf(own)],
  endless: [200, `${keyOf(own)}\n${"a".repeat(300_000)}`],
};

let server: Server;
let egress: EgressGuard;
let url: string;
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const name = /^\/(.+)\.keys$/.exec(request.url ?? "")?.[1] ?? "";
    asked.push(name);
    const [status, body] = ANSWERS[name] ?? [404, "Not Found"];
    response.writeHead(status, status === 301 ? { location: "/ada-l.keys" } : {}).end(body);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  egress = createEgressGuard({ allow: new AllowList(["127.0.0.1"]), ports: [] });
});
afterAll(() => {
  egress.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
});

describe("the keys that GitHub publishes", () => {
  const claim = (github: string, { pair = own, contribution = "c/1" } = {}) => {
    return { github, public_key: keyOf(pair), contribution };
  };

  it("have the key of whoever says the name, in any case of its letters", async () => {
    const identities = new GithubIdentities({ url: `${url}/` }, { egress, clock: new HeldClock() });
    await identities.requirePublished(claim("Ada-L"));
    await identities.requirePublished(claim("ada-l"));
    expect(asked).toEqual(["ada-l"]);
  });

  it.each(["empty", "nobody"])("do not have a key of %s", async (name) => {
    const identities = new GithubIdentities({ url }, { egress, clock: new HeldClock() });
    await expect(identities.requirePublished(claim(name))).rejects.toMatchObject({ code: "statement_invalid" });
    expect(asked).toEqual([name]);
  });

  it("do not have another key than those of the name", async () => {
    const identities = new GithubIdentities({ url }, { egress, clock: new HeldClock() });
    const refused = identities.requirePublished(claim("ada-l", { pair: other }));
    await expect(refused).rejects.toMatchObject({ code: "statement_invalid" });
  });

  it.each([
    ["renamed", "egress_unreachable"],
    ["busy", "egress_unreachable"],
    ["broken", "egress_unreachable"],
    ["endless", "egress_answer_too_large"],
  ])("are not taken from an answer that is %s, and are asked for again", async (name, code) => {
    const identities = new GithubIdentities({ url }, { egress, clock: new HeldClock() });
    for (let i = 0; i < 2; i += 1)
      await expect(identities.requirePublished(claim(name))).rejects.toMatchObject({
        ...{ code, message: expect.stringContaining("without a GitHub name") as string },
      });
    expect(asked).toEqual([name, name]);
  });

  it("are not read at an internal address that the operator has not listed", async () => {
    const unlisted = createEgressGuard({ allow: new AllowList([]), ports: [443] });
    try {
      const identities = new GithubIdentities({ url }, { egress: unlisted, clock: new HeldClock() });
      await expect(identities.requirePublished(claim("ada-l"))).rejects.toMatchObject({
        ...{ code: "egress_refused", message: expect.stringContaining("/ada-l.keys cannot be read") as string },
      });
      expect(asked).toEqual([]);
    } finally {
      unlisted.close();
    }
  });

  it("are asked for five names in a minute of one contribution, and for others of the next", async () => {
    const identities = new GithubIdentities({ url }, { egress, clock: new HeldClock() });
    for (let i = 0; i < 5; i += 1)
      await expect(identities.requirePublished(claim(`n${String(i)}`))).rejects.toMatchObject({
        code: "statement_invalid",
      });
    await expect(identities.requirePublished(claim("ada-l"))).rejects.toMatchObject({ code: "too_many_requests" });
    await identities.requirePublished(claim("ada-l", { contribution: "c/2" }));
    expect(asked).toHaveLength(6);
  });

  it("are kept for a minute, and asked for 30 names in one", async () => {
    const clock = new HeldClock();
    const identities = new GithubIdentities({ url }, { egress, clock });
    await identities.requirePublished(claim("ada-l", { contribution: "c/0" }));
    const ask = async (i: number) => {
      const contribution = `c/${String(Math.floor(i / 5))}`;
      await identities.requirePublished(claim(`n${String(i)}`, { contribution }));
    };
    for (let i = 1; i < 30; i += 1) await expect(ask(i)).rejects.toMatchObject({ code: "statement_invalid" });
    await identities.requirePublished(claim("ada-l", { contribution: "c/0" }));
    await expect(ask(30)).rejects.toMatchObject({ code: "too_many_requests" });
    expect(asked).toHaveLength(30);
    clock.advanceSec(60);
    await identities.requirePublished(claim("ada-l", { contribution: "c/0" }));
    expect(asked).toHaveLength(31);
  });
});

describe("the keys that GitHub publishes, over two nodes", () => {
  it("are asked for 30 names in a minute together", async () => {
    const cluster = new NodesInMemory();
    const [one, two] = ["one", "two"].map(
      (name) => new GithubIdentities({ url }, { egress, clock: new HeldClock(), nodes: cluster.node(name).nodes }),
    );
    const codes: string[] = [];
    for (let i = 0; i < 40; i += 1) {
      const claim = { github: `n${String(i)}`, public_key: keyOf(own), contribution: `c/${String(i)}` };
      const refused = await (i % 2 === 0 ? one : two)!.requirePublished(claim).catch((error: unknown) => error);
      codes.push((refused as { readonly code: string }).code);
    }
    expect(codes.filter((code) => code === "statement_invalid")).toHaveLength(30);
    expect(codes.slice(30)).toEqual(Array.from({ length: 10 }, () => "too_many_requests"));
    expect(asked).toHaveLength(30);
  });
});

describe("a contributor who names a GitHub account", () => {
  it("signs by a key of that account, and by no other", async () => {
    const github = new GithubIdentities({ url }, { egress, clock: new HeldClock() });
    const ground = await CeremonyGround.open({ github });
    try {
      const id = await ground.begin();
      const { token, statement_text: text } = await ground.contribute(id, "Ada");
      const send = async (pair: typeof own, name: string) => {
        const { kind, public_key, signature } = signBySsh(text, pair.privateKey, pair.publicKey);
        const body = { kind, public_key, signature, github: name };
        return await ground.call("POST", `/ceremonies/${id}/contributions/1/statement`, { body, token });
      };
      const refused = await send(other, "Ada-L");
      expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: "statement_invalid" }] } });
      expect((await send(own, "broken")).status).toBe(502);
      expect((await ground.see(id)).contributions[0]?.statement).toBeNull();
      const taken = await send(own, "Ada-L");
      expect(taken).toMatchObject({
        status: 200,
        body: { statement: { github: "Ada-L", github_checked_at: expect.any(String) as string } },
      });
      expect(asked).toEqual(["ada-l", "broken"]);
    } finally {
      await ground.close();
    }
  });
});
