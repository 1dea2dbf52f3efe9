/**
 * The documentation in a real browser: an operation by its address, samples, a request that is tried after signing in,
 * and the guides, in both themes. Axe judges what is shown.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.js";
import { ConsolePage, LOOKS, startBrowser } from "./console-driver.js";

const EMAIL = "ada@example.com";
const PASSWORD = "a long phrase of my own";
const DEEP_LINK = "/docs#tag/prover/GET/api/v1/provers";
const THEMES = LOOKS.filter(({ name }) => name === "light" || name === "dark");

const PHONE = LOOKS.find(({ name }) => name === "phone")!;

/** Pixels by which a page is wider than what shows it. */
async function widthOver(page: Page): Promise<number> {
  return await page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

let browser: Browser;
let server: TestServer;

beforeAll(async () => {
  browser = await startBrowser();
  server = await startServer();
  const bootstrap = readFileSync(join(server.dataDir, "bootstrap-token"), "utf8").trim();
  const made = await fetch(`${server.url}/api/v1/users`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `bearer ${bootstrap}` },
    body: JSON.stringify({ email: EMAIL, password: PASSWORD, first_name: "Ada", last_name: "Lovelace" }),
  });
  expect(made.status).toBe(201);
});
afterAll(async () => {
  await browser.close();
  await server.dispose();
});

describe.each(THEMES)("the documentation, $name", (look) => {
  let own: ConsolePage;
  let operation: Locator;

  beforeAll(async () => {
    own = await ConsolePage.open(browser, look, server.url, DEEP_LINK);
    operation = own.page.getByRole("region", { name: "List provers", exact: true });
    await operation.waitFor();
    // The reference goes on loading its parts, and a choice that is made before it has them is lost.
    await own.page.waitForLoadState("networkidle");
  });
  afterAll(async () => {
    await own.close();
  });

  it("opens at the operation of its address", async () => {
    const heading = operation.getByRole("heading", { name: "List provers", exact: true });
    const top = (await heading.boundingBox())?.y ?? -1;
    expect(top).toBeGreaterThan(0);
    expect(top).toBeLessThan(look.height);
    expect(await own.page.locator("body").getAttribute("class")).toContain(`${look.theme}-mode`);
    expect(await own.faults("docs")).toEqual([]);
  });

  it("shows samples in curl and in TypeScript, and no other language", async () => {
    const example = operation.getByRole("group", { name: /^Request Example/ });
    await example.filter({ hasText: /curl '?http:\/\/127\.0\.0\.1:\d+\/api\/v1\/provers/ }).waitFor();
    await example.getByRole("button", { name: "Shell Curl" }).click();
    const options = own.page.getByRole("listbox").getByRole("option");
    await options.first().waitFor();
    expect(await options.allTextContents()).toEqual(["TypeScript", "Curl"]);
    await own.page.getByRole("option", { name: "TypeScript" }).click();
    await example.filter({ hasText: "pw.provers.list(" }).waitFor();
  });

  it("sends a request with the token of whoever signs in", async () => {
    const wrong = { email: EMAIL, password: "not my phrase at all" };
    const refused = await fetch(`${server.url}/api/v1/authenticate`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(wrong),
    });
    const { errors } = (await refused.json()) as { errors: { message: string }[] };
    const refusal = errors[0]!.message;
    await own.button("Sign in").click();
    await own.page.getByLabel("E-mail").fill(EMAIL);
    await own.page.getByLabel("Password").fill(wrong.password);
    await own.page.keyboard.press("Enter");
    await own.page.getByRole("status").filter({ hasText: refusal }).waitFor();
    await own.page.getByLabel("Password").fill(PASSWORD);
    await own.page.keyboard.press("Enter");
    await own.button("Sign out").waitFor();
    await operation.getByRole("button", { name: /^Test Request/ }).click();
    const tried = own.page.getByRole("dialog");
    const [answer] = await Promise.all([
      own.page.waitForResponse((response) => new URL(response.url()).pathname === "/api/v1/provers"),
      tried.getByRole("button", { name: /^Send get request/ }).click(),
    ]);
    expect(answer.status()).toBe(200);
    await tried.getByText("200 OK").waitFor();
    await own.page.keyboard.press("Escape");
    await tried.waitFor({ state: "hidden" });
  });

  it("leads to the guides", async () => {
    await own.page.getByRole("link", { name: "Guides" }).click();
    await own.page.waitForURL(/\/docs\/guides$/);
    expect(await own.faults("guides")).toEqual([]);
    await own.page.getByRole("link", { name: "Production" }).first().click();
    await own.at("Production");
    expect(await own.faults("production")).toEqual([]);
  });

  it("asks no other host, and nothing on it fails", () => {
    expect(own.complaints).toEqual([]);
  });
});

describe("the documentation, on a phone", () => {
  let own: ConsolePage;

  beforeAll(async () => {
    own = await ConsolePage.open(browser, PHONE, server.url, DEEP_LINK);
    await own.page.getByRole("region", { name: "List provers", exact: true }).waitFor();
  });
  afterAll(async () => {
    await own.close();
  });

  it("fits its width", async () => {
    expect(await widthOver(own.page)).toBe(0);
    expect(await own.faults("docs")).toEqual([]);
  });

  it("has its contents behind a button, and they lead to an operation", async () => {
    await own.button("Open Menu").click();
    const contents = own.page.getByRole("complementary", { name: /^Sidebar/ });
    await contents.waitFor();
    expect(await own.faults("docs-menu")).toEqual([]);
    await contents.getByRole("link", { name: /^Register a prover/ }).click();
    const operation = own.page.getByRole("region", { name: /^Register a prover/ });
    await operation.waitFor();
    await contents.waitFor({ state: "hidden" });
    expect(await widthOver(own.page)).toBe(0);
  });

  it("leads to guides that fit its width", async () => {
    await own.page.goto(`${server.url}/docs/guides`);
    for (const guide of ["Production", "Sizing"]) {
      await own.page.getByRole("link", { name: guide }).first().click();
      await own.at(guide);
      expect(await widthOver(own.page), guide).toBe(0);
      await own.page.goBack();
    }
  });
});
