/**
 * The page at /docs: reads /openapi.json and lists its operations by area, with a search. Self-contained (no other host
 * is asked), builds its elements by text content only, and shows nothing that a user stored.
 */

export const DOCS_STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; }
h2 { margin: 2rem 0 .5rem; text-transform: capitalize; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .35rem 0; }
summary { display: flex; gap: .7rem; align-items: baseline; padding: .45rem .7rem; cursor: pointer; }
summary code { overflow-wrap: anywhere; }
summary span { margin-left: auto; opacity: .75; text-align: right; }
.method { font: 600 .8rem ui-monospace, monospace; min-width: 4rem; }
.body { padding: .2rem .9rem .9rem; border-top: 1px solid var(--line); }
pre { background: var(--soft); padding: .7rem; border-radius: .4rem; overflow: auto; max-height: 26rem; font: .82rem/1.45 ui-monospace, monospace; }
h3 { font-size: .95rem; margin: 1rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; } td { border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; vertical-align: top; }
`;

export const DOCS_SCRIPT = `
"use strict";
const make = (tag, text, className) => { const node = document.createElement(tag); if (text !== undefined) node.textContent = text; if (className) node.className = className; return node; };
const section = (parent, title, value) => { parent.append(make("h3", title), make("pre", typeof value === "string" ? value : JSON.stringify(value, null, 2))); };
const rows = (parent, title, list) => { const table = make("table"); for (const cells of list) { const row = make("tr"); for (const cell of cells) row.append(make("td", cell)); table.append(row); } parent.append(make("h3", title), table); };
const expand = (value, api) => Array.isArray(value) ? value.map((item) => expand(item, api))
  : value === null || typeof value !== "object" ? value
  : typeof value.$ref === "string" ? expand(value.$ref.slice(2).split("/").reduce((node, name) => node[name], api), api)
  : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expand(member, api)]));
function fill(body, operation) {
  if (operation.description) body.append(make("p", operation.description));
  const parameters = operation.parameters ?? [];
  if (parameters.length > 0) rows(body, "Parameters", parameters.map((p) => [p.name + (p.required ? " *" : ""), p.in, p.description ?? JSON.stringify(p.schema)]));
  const request = operation.requestBody?.content?.["application/json"];
  if (request) { section(body, "Request body", request.schema); if (request.example !== undefined) section(body, "Example", request.example); for (const { summary, value } of Object.values(request.examples ?? {})) section(body, summary, value); }
  for (const [status, response] of Object.entries(operation.responses)) {
    const content = Object.entries(response.content ?? {})[0];
    section(body, status + "  " + response.description.split("\\n")[0], content ? (content[1].schema ?? content[0]) : "no body");
  }
}
function show(api) {
  document.title = api.info.title + " " + api.info.version;
  document.querySelector("h1").textContent = document.title;
  const list = document.querySelector("main");
  const entries = [];
  for (const tag of api.tags) {
    const group = make("section"); group.append(make("h2", tag.name), make("p", tag.description));
    for (const [path, item] of Object.entries(api.paths)) for (const [method, operation] of Object.entries(item)) {
      if (!operation.tags.includes(tag.name)) continue;
      const entry = make("details"), head = make("summary"), body = make("div", undefined, "body");
      head.append(make("b", method.toUpperCase(), "method"), make("code", path), make("span", operation.summary));
      entry.append(head, body);
      entry.addEventListener("toggle", () => { if (entry.open && body.childNodes.length === 0) fill(body, expand(operation, api)); });
      entries.push({ entry, group, text: (method + " " + path + " " + operation.summary + " " + operation.operationId).toLowerCase() });
      group.append(entry);
    }
    list.append(group);
  }
  document.querySelector("input").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const { entry, text } of entries) entry.hidden = !words.every((word) => text.includes(word));
    for (const group of new Set(entries.map((e) => e.group))) group.hidden = !entries.some((e) => e.group === group && !e.entry.hidden);
  });
}
fetch("openapi.json").then((answer) => answer.json()).then(show).catch(() => { document.querySelector("main").textContent = "openapi.json could not be read."; });
`;

/** @param title plain text; escaped here. */
export function docsPage(title: string): string {
  const safe = title.replace(/[&<>"]/g, (character) => `&#${String(character.charCodeAt(0))};`);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${safe}</title><style>${DOCS_STYLE}</style></head>
<body><h1>${safe}</h1><p><input type="search" placeholder="Search operations" aria-label="Search operations"></p><main></main><script>${DOCS_SCRIPT}</script></body>
</html>
`;
}
