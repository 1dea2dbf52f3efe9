/**
 * Starts the reference at /docs: reads the document, adds samples in TypeScript, and hands it to Scalar's page. Whoever
 * signs in here gets an access token that lives as long as the page; it is stored nowhere.
 */
import type { Method } from "../../console/browser/parts/calls.js";
import { keepAccessible } from "./accessible-parts.js";
import { typeScriptSample, type Operation } from "./code-samples.js";

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ShownOperation>>>>;
  readonly tags: { readonly name: string }[];
}

interface ShownOperation extends Operation {
  "x-codeSamples"?: object[];
  /** Left out by Scalar. */
  "x-scalar-ignore"?: boolean;
}

interface Reference {
  updateConfiguration(configuration: object): void;
}

declare const Scalar: { createApiReference(selector: string, configuration: object): Reference };

/** All that the page offers beside curl would be code without the SDK. */
const OTHER_CLIENTS = [
  ...[
    "c",
    "clojure",
    "csharp",
    "dart",
    "fsharp",
    "go",
    "http",
    "java",
    "js",
    "julia",
    "kotlin",
    "node",
    "objc",
    "ocaml",
  ],
  ...["php", "powershell", "python", "r", "ruby", "rust", "swift"],
];

function configurationOf(document: OpenApi, token: string): object {
  return {
    content: document,
    // Nothing is loaded from elsewhere, nothing is reported, nothing is kept in the browser.
    ...{ withDefaultFonts: false, telemetry: false, persistAuth: false, showDeveloperTools: "never" },
    ...{ agent: { disabled: true }, mcp: { disabled: true }, hideClientButton: true },
    documentDownloadType: "direct",
    hiddenClients: {
      ...Object.fromEntries(OTHER_CLIENTS.map((name) => [name, true])),
      shell: ["httpie", "wget"],
    },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    authentication: { preferredSecurityScheme: "bearer", securitySchemes: { bearer: { token } } },
  };
}

/** What people come for stands first. */
const AREAS = ["prover", "vault", "chain", "identity", "service"];
const PAGES = /^text\/(html|css|javascript)$/;

/** Adds the samples, and leaves out the pages of the server itself. */
function asShown(document: OpenApi): OpenApi {
  document.tags.sort((a, b) => AREAS.indexOf(a.name) - AREAS.indexOf(b.name));
  for (const [path, operations] of Object.entries(document.paths))
    for (const [name, operation] of Object.entries(operations)) {
      const method = name.toUpperCase() as Method;
      const source = typeScriptSample(method, path, operation, location.origin);
      operation["x-scalar-ignore"] = Object.keys(operation.responses["200"]?.content ?? {}).some((type) =>
        PAGES.test(type),
      );
      operation["x-codeSamples"] = [{ lang: "TypeScript", label: "TypeScript", source }];
    }
  return document;
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
}

/** @returns an access token; throws an error with the server's sentence */
async function logIn(email: string, password: string): Promise<string> {
  const answer = await fetch("api/v1/authenticate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const body = (await answer.json()) as {
    token?: { access_token?: string };
    errors?: readonly { message: string }[];
  };
  const token = body.token?.access_token;
  if (!answer.ok || token === undefined) throw new Error(body.errors?.[0]?.message ?? `status ${answer.status}`);
  return token;
}

/** @param use takes the token, or an empty text to forget it */
function connectForm(use: (token: string) => void): void {
  const [form, open, said] = [element("login") as HTMLFormElement, element("open"), element("said")];
  let isSignedIn = false;
  const show = ({ text = "", signedIn = false }) => {
    isSignedIn = signedIn;
    said.textContent = text;
    open.textContent = signedIn ? "Sign out" : "Sign in";
  };
  open.addEventListener("click", () => {
    if (isSignedIn) {
      use("");
      show({});
    } else form.hidden = !form.hidden;
    if (!form.hidden) element("email").focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const [email, password] = [fields.get("email") as string, fields.get("password") as string];
    said.textContent = "Signing in";
    logIn(email, password).then(
      (token) => {
        form.reset();
        form.hidden = true;
        use(token);
        show({ text: email, signedIn: true });
      },
      (error: unknown) => {
        show({ text: error instanceof Error ? error.message : String(error) });
      },
    );
  });
}

async function start(): Promise<void> {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json could not be read: status ${answer.status}`);
  const api = asShown((await answer.json()) as OpenApi);
  const reference = Scalar.createApiReference("#reference", configurationOf(api, ""));
  keepAccessible(document.body);
  connectForm((token) => {
    reference.updateConfiguration(configurationOf(api, token));
  });
}

start().catch((error: unknown) => {
  element("reference").textContent = error instanceof Error ? error.message : String(error);
});
