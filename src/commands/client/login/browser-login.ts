/**
 * Logging in with a browser: the authorization code flow with PKCE (RFC 7636) and a redirect to a port of this machine
 * (RFC 8252). The password goes to the server's own page and never through this program.
 */
import { spawn } from "node:child_process";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StartError } from "../../../platform/start-error.js";
import { Proofwright } from "../../../sdk/proofwright.js";
import { withoutControls } from "../print-result.js";

type Token = Awaited<ReturnType<Proofwright["tokens"]["create"]>>;

/** Of `proofwright login`, the same on every server. */
export const COMMAND_LINE_CLIENT_ID = "c0450000-0000-4000-8000-000000000002";
/** All that a user may pass on to a client; the rights of administrators are not among it. */
export const CLIENT_SCOPE = "offline_access read create update delete publish subscribe vault_use secret_read";
/** Time to log in; the server's page has no shorter one. */
const WAIT_MS = 600_000;
const CALLBACK_PATH = "/callback";
/** What opens an address; `xdg-open` on other systems. */
const BROWSERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

export interface BrowserLogin {
  readonly server: string;
  /** Another client than the one that is built in. */
  readonly clientId: string;
  /** Whether a browser is opened; its address is printed in any case. */
  readonly isBrowserOpened: boolean;
}

/**
 * Prints the address of the login page, waits for the browser to come back, and returns the token.
 * @throws StartError when the user denies it or takes too long
 */
export async function loginWithBrowser({ server, clientId, isBrowserOpened }: BrowserLogin): Promise<Token> {
  const state = randomBytes(32).toString("base64url");
  const verifier = randomBytes(32).toString("base64url");
  const callback = await listen(state);
  try {
    const redirectUri = `http://127.0.0.1:${String(callback.port)}${CALLBACK_PATH}`;
    const page = new URL(`${server}/api/v1/oauth/authorize`);
    page.search = new URLSearchParams({
      ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope: CLIENT_SCOPE, state },
      ...{ code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256" },
    }).toString();
    process.stderr.write(`Log in with your browser:\n\n  ${page.href}\n\nWaiting for it.\n`);
    if (isBrowserOpened) openBrowser(page.href);
    const code = await callback.code;
    return await new Proofwright({ baseUrl: server }).tokens.create({
      ...{ grant_type: "authorization_code", client_id: clientId, redirect_uri: redirectUri },
      ...{ code, code_verifier: verifier },
    });
  } finally {
    callback.close();
  }
}

interface Callback {
  readonly port: number;
  readonly code: Promise<string>;
  readonly close: () => void;
}

/** Waits on loopback for one request that has the state; whoever else on the machine calls gets 404. */
async function listen(state: string): Promise<Callback> {
  const { promise: code, resolve, reject } = withResolvers<string>();
  // The caller may fail before it waits.
  code.catch(() => undefined);
  const server = createServer((request, response) => {
    const told = answerOf(request, state);
    if (told === undefined) {
      answer(response, 404, "There is nothing here.");
      return;
    }
    const value = told.get("code");
    answer(response, 200, value === null ? "Nobody was logged in." : "You are logged in. This page can be closed.");
    const reason = withoutControls(told.get("error_description") ?? told.get("error") ?? "no code came");
    if (value === null) reject(new StartError(`nobody was logged in: ${reason}.`));
    else resolve(value);
  });
  await new Promise<void>((ready, failed) => {
    server.once("error", failed).listen(0, "127.0.0.1", ready);
  });
  const timer = setTimeout(() => {
    reject(new StartError(`nobody logged in within ${String(WAIT_MS / 60_000)} minutes.`));
  }, WAIT_MS);
  const close = (): void => {
    clearTimeout(timer);
    server.close();
    server.closeIdleConnections();
  };
  return { port: (server.address() as AddressInfo).port, code, close };
}

/** Returns what a browser was sent back with; undefined for any other request. */
function answerOf({ method, url = "", headers }: IncomingMessage, state: string): URLSearchParams | undefined {
  // A name that leads here by DNS rebinding is not this address.
  if (method !== "GET" || headers.host?.startsWith("127.0.0.1:") !== true) return undefined;
  const asked = new URL(url, "http://127.0.0.1");
  const [given, expected] = [Buffer.from(asked.searchParams.get("state") ?? ""), Buffer.from(state)];
  const isOurs =
    asked.pathname === CALLBACK_PATH && given.length === expected.length && timingSafeEqual(given, expected);
  return isOurs ? asked.searchParams : undefined;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    ...{ "Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": "default-src 'none'" },
    ...{ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", Connection: "close" },
  });
  response.end(`${text}\n`);
}

/** Without a shell, which would read the address as a program. A machine without a browser has the printed address. */
function openBrowser(address: string): void {
  const [program, ...args] = BROWSERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program ?? "xdg-open", [...args, address], { stdio: "ignore", detached: true });
  child.on("error", () => {
    process.stderr.write("No browser could be started; open the address yourself.\n");
  });
  child.unref();
}

function withResolvers<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
} {
  let [resolve, reject]: [(value: T) => void, (reason: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<T>((settle, fail) => {
    [resolve, reject] = [settle, fail];
  });
  return { promise, resolve, reject };
}
