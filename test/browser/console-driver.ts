/** Drives the console in Debian's Chromium: one browser, one page in a theme and at a width, judged by axe. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";

/** How a page is looked at. */
export interface Look {
  readonly name: string;
  readonly theme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

export const LOOKS: readonly Look[] = [
  { name: "light", theme: "light", width: 1360, height: 900 },
  { name: "dark", theme: "dark", width: 1360, height: 900 },
  { name: "phone", theme: "light", width: 390, height: 844 },
];

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Where pictures go, when somebody wants to see them. */
const PICTURES = process.env["CONSOLE_PICTURES"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Ends when no colour fades any longer: the end of one fade begins those of the parts that inherit from it. */
const FADES_ENDED = `(async () => {
  const fades = () => document.getAnimations().filter((each) => each instanceof CSSTransition);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  for (let still = 0; still < 10; still = fades().length === 0 ? still + 1 : 0) {
    await Promise.allSettled(fades().map(({ finished }) => finished));
    await frame();
  }
})()`;
const WAIT_MS = 120_000;

/** Starts a browser; throws when there is none. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** A page of the console, with what a visitor does there. */
export class ConsolePage {
  /** Errors of scripts, what the page's policy refused, and requests to other hosts. */
  readonly complaints: string[] = [];
  readonly page: Page;
  readonly #look: Look;
  readonly #url: string;

  private constructor(page: Page, look: Look, url: string) {
    this.page = page;
    this.#look = look;
    this.#url = url;
    page.setDefaultTimeout(WAIT_MS);
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => {
      // A refused call is told in the page; the browser repeats each in its console.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.complaints.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:") && !request.url().startsWith("blob:"))
        this.complaints.push(`asked ${request.url()}`);
    });
  }

  /** @param place path on the server */
  static async open(browser: Browser, look: Look, url: string, place = "/"): Promise<ConsolePage> {
    const context = await browser.newContext({
      viewport: { width: look.width, height: look.height },
      colorScheme: look.theme,
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    const own = new ConsolePage(page, look, url);
    await page.goto(url + place);
    return own;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: typeof name === "string" });
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.getByLabel(label, { exact: false }).first().fill(text);
  }

  /** Goes to a place of the console. */
  async visit(place: string): Promise<void> {
    await this.page.goto(`${this.#url}/#${place}`);
  }

  /** Waits for a heading. */
  async at(title: string): Promise<void> {
    await this.page.getByRole("heading", { name: title, level: 1, exact: true }).waitFor();
  }

  /** Signs up and logs in by the server's own pages. */
  async join({ email, password, bootstrap }: { email: string; password: string; bootstrap?: string }): Promise<void> {
    await this.button("Create an account").click();
    await this.fill("First name", "Ada");
    await this.fill("Last name", "Lovelace");
    await this.fill("E-mail", email);
    await this.fill("Password", password);
    if (bootstrap !== undefined) {
      await this.page.getByText("I set this server up").click();
      await this.fill("Bootstrap token", bootstrap);
    }
    await this.button("Create account").click();
    await this.#logIn(password);
  }

  /** Logs in to an account that is there. */
  async logIn({ email, password }: { email: string; password: string }): Promise<void> {
    await this.button("Sign in").click();
    await this.page.getByLabel("E-mail").fill(email);
    await this.#logIn(password);
  }

  async #logIn(password: string): Promise<void> {
    await this.page.waitForURL(/oauth\/authorize/);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Log in and allow" }).click();
    await this.page.waitForURL((address) => address.pathname === "/" && address.search === "");
  }

  /** What axe finds wrong with the page as it is, and what leads out of its width. */
  async faults(picture: string): Promise<string[]> {
    if (PICTURES !== undefined)
      await this.page.screenshot({ path: join(PICTURES, `console-${picture}-${this.#look.name}.png`), fullPage: true });
    // A colour that fades into another is no colour that anybody reads.
    await this.#run<undefined>(FADES_ENDED);
    // The page's policy refuses scripts that are added; the debugger may run them.
    const result = await this.#run<AxeResult>(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
    const found = result.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${picture}: ${id}: ${html.slice(0, 160)} ${failureSummary ?? ""}`),
    );
    const beyond = await this.#run<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    return beyond > 0 ? [...found, `${picture}: ${String(beyond)} pixels wider than the window`] : found;
  }

  async #run<T>(expression: string): Promise<T> {
    const debuggerSession = await this.page.context().newCDPSession(this.page);
    const { result, exceptionDetails } = await debuggerSession.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    await debuggerSession.detach();
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }
}
