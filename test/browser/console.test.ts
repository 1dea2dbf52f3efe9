/**
 * The console in a real browser: from an empty server to a verified proof, a signature, a deployed contract and an
 * unsealed vault, in both themes and at a phone's width. Axe judges every room on the way.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../support/anvil.js";
import { freePort } from "../support/line-doubles.js";
import { startServer, type TestServer } from "../support/server.js";
import { ConsolePage, LOOKS, startBrowser } from "./console-driver.js";

const PASSWORD = "a long phrase of my own";
/** Well known, of BIP 39's tests; its hash is what a server is configured with. */
const SEAL_PHRASE =
  "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth title";
const CIRCUIT = `pragma circom 2.1.0;
template Product() {
    signal input a;
    signal input b;
    signal input unused;
    signal output product;
    product <== a * b;
}
component main = Product();
`;
const TEN_ETHER = "0x8ac7230489e80000";

let browser: Browser;
let anvil: Anvil;

beforeAll(async () => {
  browser = await startBrowser();
  anvil = await startAnvil();
});
afterAll(async () => {
  await browser.close();
  await anvil.stop("SIGKILL");
});

async function serverAt(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<TestServer> {
  const port = await freePort();
  return await startServer({
    flags: [`--port=${String(port)}`, `--issuer=http://127.0.0.1:${String(port)}`, ...flags],
    env,
  });
}

function bootstrapOf(server: TestServer): string {
  return readFileSync(join(server.dataDir, "bootstrap-token"), "utf8").trim();
}

describe.each(LOOKS)("the console, $name", (look) => {
  let server: TestServer;
  let own: ConsolePage;
  const faults: string[] = [];
  const seen = async (picture: string): Promise<void> => {
    faults.push(...(await own.faults(picture)));
  };

  beforeAll(async () => {
    server = await serverAt();
    own = await ConsolePage.open(browser, look, server.url);
  });
  afterAll(async () => {
    await own.close();
    await server.dispose();
  });

  it("signs the first administrator up and in", async () => {
    await own.at("Sign in");
    await seen("welcome");
    await own.join({ email: "ada@example.com", password: PASSWORD, bootstrap: bootstrapOf(server) });
    await own.at("Provers");
    await own.page.getByRole("heading", { name: "A prover is a circuit with its keys" }).waitFor();
    await seen("empty");
  });

  it("proves and verifies with a built-in circuit", async () => {
    await own.page.getByRole("link", { name: "Begin with a built-in circuit" }).click();
    await own.at("New prover");
    await seen("new-prover");
    await own.button("Create prover").click();
    await own.at("cubic");
    await own.page.getByText("provisioned", { exact: true }).waitFor();
    await own.page.getByRole("heading", { name: "Interface" }).waitFor();
    await seen("prover");
    await own.page
      .getByRole("navigation", { name: "Prover", exact: true })
      .getByRole("link", { name: "Prove" })
      .click();
    await own.button("Fill in an example").click();
    await own.button("Prove").click();
    await own.button("Verify it").click();
    await own.page.getByText("verified", { exact: true }).waitFor();
    await seen("proof");
    // What is wrong is said in the server's words.
    await own.fill("Y (public)", "36");
    await own.button("Prove").click();
    await own.page.getByRole("alert").waitFor();
  });

  it("compiles pasted text, and proves with the form made from it", async () => {
    await own.visit("/provers/new");
    await own.at("New prover");
    await own.page.getByText("Paste text").click();
    await own.page.getByLabel("Text of the circuit").fill(CIRCUIT);
    await own.page.getByText("main", { exact: true }).waitFor();
    await own.fill("Name", "product");
    await own.button("Create prover").click();
    await own.at("product");
    await own.page.getByText("provisioned", { exact: true }).waitFor();
    await own.page
      .getByRole("navigation", { name: "Prover", exact: true })
      .getByRole("link", { name: "Prove" })
      .click();
    for (const [name, value] of [
      ["a", "6"],
      ["b", "7"],
      ["unused", "0"],
    ] as const)
      await own.page.getByLabel(name, { exact: true }).fill(value);
    await own.button("Prove").click();
    await own.page.getByRole("button", { name: "Copy 42" }).waitFor();
    await own.page
      .getByRole("navigation", { name: "Prover", exact: true })
      .getByRole("link", { name: "Files" })
      .click();
    await own.page.getByText("verifier.sol", { exact: true }).waitFor();
    await own.button("Show verifier.sol").click();
    await own.page.getByText("pragma solidity").waitFor();
    await seen("files");
    await own.page
      .getByRole("navigation", { name: "Prover", exact: true })
      .getByRole("link", { name: "Proofs" })
      .click();
    await own.button("Note 0").click();
    await own.page.getByText("Nullifier key").waitFor();
    await seen("proofs");
  });

  it("shows each action as curl and as code", async () => {
    await own.visit("/provers");
    await own.at("Provers");
    await own.page.getByRole("button", { name: "Show the call" }).click();
    const drawer = own.page.getByRole("dialog", { name: "The call" });
    expect(await drawer.locator("pre").textContent()).toContain(`curl '${server.url}/api/v1/provers?`);
    await drawer.getByRole("button", { name: "TypeScript" }).click();
    expect(await drawer.locator("pre").textContent()).toContain("await pw.provers.list().page({");
    await seen("call");
    await own.page.keyboard.press("Escape");
    await drawer.waitFor({ state: "hidden" });
  });

  it("plots the proofs that are made meanwhile", async () => {
    await own.visit("/queue");
    await own.at("Live queue");
    await own.page.getByText("threads proving").waitFor();
    await own.page.getByText("listening", { exact: true }).waitFor();
    const { token } = (await server.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } }))
      .body as unknown as {
      token: { access_token: string };
    };
    const api = server.as(token.access_token);
    const [prover] = (await api.listProvers({ query: { identifier: "cubic" } })).body;
    for (let n = 0; n < 4; n += 1)
      await api.prove({ params: { id: prover!.id }, body: { witness: { X: "3", Y: "35" } } });
    await own.page.getByRole("heading", { name: "Latest proofs" }).waitFor();
    await seen("queue");
  });

  it("signs with a key of a vault", async () => {
    await own.visit("/vaults");
    await own.at("Vaults");
    await own.fill("Name", "payments");
    await own.button("Create vault").click();
    await own.at("payments");
    await own.fill("Name", "signer");
    await own.button("Create key").click();
    await own.page.getByRole("link", { name: "signer" }).click();
    await own.at("signer");
    await own.page.getByRole("form", { name: "Sign" }).getByLabel("Message", { exact: true }).fill("Hello");
    await own.button("Sign").click();
    const signature = await own.page.locator("pre[aria-label=Signature]").textContent();
    expect(signature).toMatch(/^(0x)?[0-9a-f]{128,130}$/);
    const form = own.page.getByRole("form", { name: "Verify" });
    await form.getByLabel("Message", { exact: true }).fill("Hello");
    await form.getByLabel("Signature").fill(signature ?? "");
    await form.getByRole("button", { name: "Verify" }).click();
    await own.page.getByText("verified", { exact: true }).waitFor();
    await seen("key");
  });

  it("deploys a contract, writes to it and reads it", async () => {
    await own.visit("/chain");
    await own.at("Chain");
    await own.fill("Name", "local");
    await own.fill("Address of a node", anvil.url);
    await own.button("Create network").click();
    await own.at("local");
    await own.page.getByRole("heading", { name: "Health" }).waitFor();
    await seen("network");
    await own.visit("/chain/accounts");
    await own.page.getByRole("option", { name: "local" }).waitFor({ state: "attached" });
    await own.button("Create account").click();
    const address = (await own.page.locator("td button.id").first().textContent()) ?? "";
    expect(address).toMatch(/^0x[0-9a-fA-F]{40}$/);
    await anvil.request("anvil_setBalance", address, TEN_ETHER);
    await own.visit("/chain/contracts");
    await own.page.getByRole("option", { name: address.slice(0, 12) }).waitFor({ state: "attached" });
    await own.fill("Name", "Counter");
    await seen("contracts");
    await own.button("Deploy").click();
    await own.at("Counter");
    await own.page.getByText("deployed", { exact: true }).waitFor();
    await own.page.getByText("add(uint256)").click();
    await own.fill("steps", "5");
    await own.button("Send").click();
    await own.at("Transaction");
    await own.page.locator(".head .badge", { hasText: /^(mined|confirmed)$/ }).waitFor();
    await seen("transaction");
    await own.page.goBack();
    await own.at("Counter");
    await own.button("Read").click();
    await expect.poll(async () => await own.page.locator("pre.wrap").first().textContent()).toContain("5");
    await seen("contract");
  });

  it("shows people, makes a token, reads the audit log and the events", async () => {
    await own.visit("/people");
    await own.page.getByText("Ada Lovelace (you)").waitFor();
    await seen("people");
    await own.visit("/people/tokens");
    await own.fill("Name", "nightly");
    await own.button("Make token").click();
    await own.page.getByRole("heading", { name: "Your new token" }).waitFor();
    await seen("tokens");
    await own.visit("/people/organizations");
    await own.fill("Name", "Engines");
    await own.button("Found organization").click();
    await own.page.getByRole("button", { name: "Engines", exact: true }).waitFor();
    await own.visit("/audit");
    await own.at("Audit");
    await own.button("Check the log").click();
    await own.page.getByText("none missing").waitFor();
    await seen("audit");
    await own.visit("/events");
    await own.at("Events");
    await own.page.getByText("listening", { exact: true }).waitFor();
    await seen("events");
  });

  it("keeps the place over a reload, and ends the session", async () => {
    await own.visit("/vaults/seal");
    await own.at("Seal");
    await own.page.reload();
    await own.at("Seal");
    if (look.name === "phone") await own.button("Menu").click();
    await own.button("Sign out").click();
    await own.at("Sign in");
    await own.logIn({ email: "ada@example.com", password: PASSWORD });
    await own.at("Seal");
  });

  it("has nothing that axe finds, no error, and asks no other host", () => {
    expect(faults).toEqual([]);
    expect(own.complaints).toEqual([]);
  });
});

describe("the seal", () => {
  it("is opened and closed again by an administrator", async () => {
    const hash = `0x${createHash("sha256").update(SEAL_PHRASE).digest("hex")}`;
    const server = await serverAt([], { SEAL_UNSEAL_VALIDATION_HASH: hash });
    const own = await ConsolePage.open(browser, LOOKS[0]!, server.url);
    try {
      await own.join({ email: "root@example.com", password: PASSWORD, bootstrap: bootstrapOf(server) });
      await own.page.getByRole("link", { name: "Unseal it" }).click();
      await own.fill("Seal key", "wrong words");
      await own.button("Unseal the vault").click();
      await own.page.getByRole("alert").waitFor();
      await own.fill("Seal key", SEAL_PHRASE);
      await own.button("Unseal the vault").click();
      await own.page.getByText("unsealed", { exact: true }).waitFor();
      expect(await own.faults("seal")).toEqual([]);
      await own.fill("Seal key", SEAL_PHRASE);
      await own.button("Seal the vault").click();
      await own.page.getByText("sealed", { exact: true }).waitFor();
      expect(own.complaints).toEqual([]);
    } finally {
      await own.close();
      await server.dispose();
    }
  });
});

describe("the login of the console", () => {
  it("goes to the server's own address, on its own port, and to no other", async () => {
    const server = await serverAt();
    try {
      const authorize = async (redirect: string): Promise<number> => {
        const query = new URLSearchParams({
          response_type: "code",
          client_id: "c0450000-0000-4000-8000-000000000001",
          redirect_uri: redirect,
          code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
          code_challenge_method: "S256",
        });
        return (await fetch(`${server.url}/api/v1/oauth/authorize?${query.toString()}`, { redirect: "manual" })).status;
      };
      expect(await authorize(`${server.url}/`)).toBe(200);
      for (const other of ["http://127.0.0.1:1/", "https://example.com/", `${server.url}/console/`])
        expect(await authorize(other)).toBe(422);
    } finally {
      await server.dispose();
    }
  });
});
