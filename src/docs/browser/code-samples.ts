/** Samples of the reference in TypeScript: each operation as code of the SDK, as the console shows its own calls. */
import { API } from "../../console/browser/parts/api-calls.js";
import { asCode, type Call, type CallMaker, type Method } from "../../console/browser/parts/calls.js";

/** What of an operation of the OpenAPI document a sample is made from. */
export interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
  readonly security?: readonly object[];
}

interface MediaType {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

const JSON_MEDIA = "application/json";
const PARAMETER = /\{([a-z_]+)\}/g;
const known = new Map(
  Object.values(API as Readonly<Record<string, CallMaker>>).map((maker) => {
    const { method, template, sdk, isList } = maker();
    return [`${method} ${template.replaceAll(/:[a-z_]+/g, ":")}`, { sdk, isList }] as const;
  }),
);

/**
 * Returns the operation as TypeScript.
 * @param path as the document writes it, such as `/api/v1/vaults/{id}`
 */
export function typeScriptSample(method: Method, path: string, operation: Operation, origin: string): string {
  const ids = [...path.matchAll(PARAMETER)].map(([, name = ""]) => `<${name}>`);
  const template = path.replaceAll(PARAMETER, ":$1");
  const { sdk, isList = false } = known.get(`${method} ${path.replaceAll(PARAMETER, ":")}`) ?? {};
  const body = exampleOf(operation);
  if (sdk !== undefined || answersJson(operation))
    return asCode({ method, path, template, ids, query: {}, body, sdk, isList, hides: [] } satisfies Call, origin);
  return fetchSample(method, origin + template.replaceAll(/:([a-z_]+)/g, "<$1>"), operation);
}

function fetchSample(method: Method, address: string, operation: Operation): string {
  const isOpen = operation.security !== undefined;
  const headers = isOpen ? [] : ["  headers: { Authorization: `Bearer ${token}` },"];
  const body = exampleOf(operation);
  const sent =
    body === undefined
      ? operation.requestBody === undefined
        ? []
        : ["  body: bytes,"]
      : [`  body: JSON.stringify(${JSON.stringify(body)}),`];
  return [`const answer = await fetch("${address}", {`, `  method: "${method}",`, ...headers, ...sent, "});"].join(
    "\n",
  );
}

/** The first example of the body; undefined without one. */
function exampleOf({ requestBody }: Operation): unknown {
  const media = requestBody?.content[JSON_MEDIA];
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
}

/** True when the SDK's `request` calls it: an answer of JSON, or of nothing. */
function answersJson({ requestBody, responses }: Operation): boolean {
  if (requestBody !== undefined && !(JSON_MEDIA in requestBody.content)) return false;
  const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return answers.every(([, { content }]) => content === undefined || JSON_MEDIA in content);
}
