/** The console's session: logging in, refreshing, signing out. The browser's parts are doubles, the server a function. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

interface SessionModule {
  readonly finishSignIn: () => Promise<string | undefined>;
  readonly accessToken: (options?: { readonly refused?: string }) => Promise<string | undefined>;
  readonly signOut: () => Promise<void>;
  readonly forget: () => void;
}
interface ApiModule {
  readonly sendRaw: (call: object) => Promise<Response>;
}
interface Asked {
  readonly path: string;
  readonly bearer: string | undefined;
  readonly form: URLSearchParams;
}

const CALL = { method: "GET", path: "/api/v1/provers", query: {}, body: undefined };
const PENDING = { state: "s1", verifier: "v", hash: "#/vaults" };

const stored = new Map<string, string>();
let page: { pathname: string; search: string };
let shown: string[];
let asked: Asked[];
let answer: (request: Asked) => Response | Promise<Response>;
let session: SessionModule;
let api: ApiModule;

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("location", {
    origin: "http://host",
    get pathname() {
      return page.pathname;
    },
    get search() {
      return page.search;
    },
  });
  vi.stubGlobal("history", { replaceState: (_state: unknown, _title: string, address: string) => shown.push(address) });
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    const authorization = new Headers(init.headers).get("authorization");
    const form = new URLSearchParams(init.body instanceof URLSearchParams ? init.body : "");
    const request = { path, form, bearer: authorization?.replace("Bearer ", "") };
    asked.push(request);
    return await answer(request);
  });
  // Their types are those of browsers, which the tests of the server do not have.
  const moduleAt = async (name: string): Promise<unknown> =>
    await import(new URL(`../../src/console/browser/parts/${name}.ts`, import.meta.url).pathname);
  session = (await moduleAt("session")) as SessionModule;
  api = (await moduleAt("api")) as ApiModule;
});

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  stored.clear();
  shown = [];
  asked = [];
});

afterEach(() => {
  session.forget();
  vi.useRealTimers();
});

afterAll(() => {
  vi.unstubAllGlobals();
});

function tokens(number: number): Response {
  const claims = btoa(JSON.stringify({ sub: "user:u1" }));
  return Response.json({
    access_token: `h.${claims}.a${String(number)}`,
    refresh_token: `r${String(number)}`,
    expires_in: 900,
  });
}

const nameOf = (token: string | undefined): string | undefined => token?.split(".")[2];
const refusal = (status: number, error: string): Response => Response.json({ error }, { status });

async function finish(search: string, pending: object | null = PENDING): Promise<string | undefined> {
  page = { pathname: "/", search };
  if (pending !== null) stored.set("proofwright.login", JSON.stringify(pending));
  return await session.finishSignIn();
}

async function signIn(): Promise<void> {
  answer = () => tokens(1);
  expect(await finish("?code=c&state=s1")).toBeUndefined();
  asked = [];
}

describe("a login", () => {
  it("exchanges the code, and takes it out of the address", async () => {
    answer = () => tokens(1);
    expect(await finish("?code=c&state=s1")).toBeUndefined();
    expect(Object.fromEntries(asked[0]?.form ?? [])).toMatchObject({
      grant_type: "authorization_code",
      code: "c",
      code_verifier: "v",
      redirect_uri: "http://host/",
    });
    expect(shown).toEqual(["/#/vaults"]);
    expect(nameOf(await session.accessToken())).toBe("a1");
  });

  it.each([
    ["a code of another login", "?code=c&state=s2", PENDING],
    ["a code without a state", "?code=c", PENDING],
    ["a code that nobody asked for", "?code=c&state=s1", null],
    ["an error that nobody asked for", "?error=x&error_description=Call+0900+123456", null],
    ["an error of another login", "?error=x&error_description=Call+0900+123456&state=s2", PENDING],
  ])("is not ended by %s", async (_what, search, pending) => {
    expect(await finish(search, pending)).toBe("This login was not begun in this tab. Sign in again.");
    expect(asked).toEqual([]);
    expect(await session.accessToken()).toBeUndefined();
  });

  it("tells what the server said", async () => {
    expect(await finish("?error=access_denied&state=s1")).toBe("You chose not to log in.");
    expect(await finish("?error=server_error&error_description=out+of+order&state=s1")).toBe("out of order");
  });
});

describe("a token", () => {
  it("is refreshed before it expires, once for all who wait", async () => {
    await signIn();
    vi.setSystemTime(869_000);
    expect(nameOf(await session.accessToken())).toBe("a1");
    expect(asked).toEqual([]);
    vi.setSystemTime(871_000);
    answer = () => tokens(2);
    const found = await Promise.all([session.accessToken(), session.accessToken()]);
    expect(found.map(nameOf)).toEqual(["a2", "a2"]);
    expect(asked.map(({ form }) => form.get("refresh_token"))).toEqual(["r1"]);
  });

  it("that is refused is replaced once, by whoever is first", async () => {
    await signIn();
    answer = ({ path, bearer }) =>
      path.endsWith("/token") ? tokens(2) : nameOf(bearer) === "a1" ? refusal(401, "unauthorized") : Response.json([]);
    const answers = await Promise.all([api.sendRaw(CALL), api.sendRaw(CALL)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const first = asked.find(({ bearer }) => bearer !== undefined)?.bearer ?? "";
    expect(nameOf(await session.accessToken({ refused: first }))).toBe("a2");
    expect(asked.filter(({ path }) => path.endsWith("/token"))).toHaveLength(1);
  });

  it("that the server ended is forgotten", async () => {
    await signIn();
    answer = ({ path }) => (path.endsWith("/token") ? refusal(400, "invalid_grant") : refusal(401, "unauthorized"));
    await expect(api.sendRaw(CALL)).rejects.toMatchObject({ status: 401 });
    expect(await session.accessToken()).toBeUndefined();
    expect(stored.size).toBe(0);
  });

  it.each([429, 503])("is kept while a refresh is answered %i", async (status) => {
    await signIn();
    answer = ({ path }) => (path.endsWith("/token") ? refusal(status, "later") : refusal(401, "unauthorized"));
    await expect(api.sendRaw(CALL)).rejects.toMatchObject({ status: 401 });
    expect(nameOf(await session.accessToken())).toBe("a1");
  });
});

describe("signing out", () => {
  it("ends the session on the server", async () => {
    await signIn();
    answer = () => Response.json({});
    await session.signOut();
    expect(asked.map(({ path, form, bearer }) => [path, form.get("token"), nameOf(bearer)])).toEqual([
      ["api/v1/oauth/revoke", "r1", "a1"],
    ]);
    expect(await session.accessToken()).toBeUndefined();
  });

  it("ends it too when the token has expired", async () => {
    await signIn();
    vi.setSystemTime(901_000);
    answer = ({ path }) => (path.endsWith("/token") ? tokens(2) : Response.json({}));
    await session.signOut();
    expect(asked.map(({ path }) => path)).toEqual(["api/v1/oauth/token", "api/v1/oauth/revoke"]);
    expect(asked[1]?.form.get("token")).toBe("r2");
    expect(nameOf(asked[1]?.bearer)).toBe("a2");
  });

  it("is not undone by a refresh that was under way, whose session ends as well", async () => {
    await signIn();
    vi.setSystemTime(871_000);
    let come = (_response: Response): void => undefined;
    const coming = new Promise<Response>((resolve) => (come = resolve));
    answer = ({ path }) => (path.endsWith("/token") ? coming : Response.json({}));
    const refreshed = session.accessToken();
    const out = session.signOut();
    come(tokens(2));
    await out;
    expect(await refreshed).toBeUndefined();
    expect(stored.size).toBe(0);
    expect(asked.filter(({ path }) => path.endsWith("/revoke")).map(({ form }) => form.get("token"))).toContain("r2");
  });

  it("says when the server could not be told", async () => {
    await signIn();
    answer = () => refusal(503, "later");
    await expect(session.signOut()).rejects.toThrow("the server could not be told");
    expect(await session.accessToken()).toBeUndefined();
  });
});
