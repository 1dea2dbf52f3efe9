/**
 * Makes the documentation under dist/docs: the reference's page with Scalar's script as its package has it, and the
 * Markdown of the guides as pages. Both packages serve the build alone; where they are not installed
 * (`npm ci --omit=dev`), there is no documentation, and the server says so.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { addCompressed } from "./compress.js";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = "src/docs";
const OUTPUT = join(ROOT, "dist", "docs");
const SCALAR = "@scalar/fastify-api-reference";

const textOf = (path) => readFileSync(join(ROOT, path), "utf8");
const hashOf = (content) => createHash("sha256").update(content).digest("hex").slice(0, 16);
const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const groups = () => JSON.parse(textOf(`${SOURCES}/guides/pages.json`));

/** Files from which the documentation is made, from the root. */
export const docsSources = () => [
  ...groups().flatMap(({ pages }) => Object.values(pages)),
  ...["accessible-parts.ts", "code-samples.ts", "start.ts", "reference.css", "guides.css"].map(
    (name) => `${SOURCES}/browser/${name}`,
  ),
  ...["calls.ts", "api-calls.ts"].map((name) => `src/console/browser/parts/${name}`),
  ...[`${SOURCES}/guides/pages.json`, ".config/build-docs.js", ".config/compress.js", "package-lock.json"],
];

export async function buildDocs() {
  const parts = await Promise.all([import(SCALAR), import("marked")]).catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    process.stderr.write("The documentation is not built: its packages are not installed.\n");
    return undefined;
  });
  rmSync(OUTPUT, { recursive: true, force: true });
  if (parts === undefined) return;
  const [{ default: plugin }, { Marked }] = parts;
  mkdirSync(join(OUTPUT, "guides"), { recursive: true });
  const scripts = {};
  const styles = {};
  const add = (table, name, extension, content) => {
    const hash = hashOf(content);
    table[hash] = `${name}-${hash}.${extension}`;
    writeFileSync(join(OUTPUT, table[hash]), content);
    return hash;
  };
  const reference = add(scripts, "reference", "js", scalarScript(plugin));
  const start = add(scripts, "start", "js", await bundled("start.ts"));
  const referenceStyle = add(styles, "reference", "css", await bundled("reference.css"));
  const guideStyle = add(styles, "guides", "css", await bundled("guides.css"));
  // The licence asks to be kept with copies.
  writeFileSync(join(OUTPUT, "SCALAR-LICENSE"), textOf(`node_modules/${SCALAR}/LICENSE`));
  writeFileSync(join(OUTPUT, "reference.html"), referencePage({ reference, start, style: referenceStyle }));
  const guides = writeGuides(Marked, guideStyle);
  const made = ["reference.html", ...[scripts, styles, guides].flatMap(Object.values), "guides/index.html"];
  await addCompressed(made.map((name) => join(OUTPUT, name)));
  const manifest = { page: "reference.html", scripts, styles, index: "guides/index.html", guides };
  writeFileSync(join(OUTPUT, "manifest.json"), JSON.stringify(manifest));
}

/** The package gives its script as the answer of a route; nothing of Fastify is needed for that. */
function scalarScript(plugin) {
  const routes = [];
  const fastify = { hasPlugin: () => false, initialConfig: {}, log: console, route: (route) => routes.push(route) };
  plugin(fastify, { configuration: { url: "openapi.json" } }, () => undefined);
  const reply = { header: () => reply, send: (content) => content };
  const script = routes.find(({ url }) => url.endsWith(".js"))?.handler({}, reply);
  if (typeof script !== "string" || !script.includes("createApiReference"))
    throw new Error(`${SCALAR} does not give the reference's script as it did`);
  return script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n");
}

async function bundled(name) {
  const { outputFiles } = await build({
    ...{ absWorkingDir: ROOT, entryPoints: [`${SOURCES}/browser/${name}`], bundle: true, write: false, minify: true },
    ...{ format: "esm", platform: "browser", target: "es2022", legalComments: "none", logLevel: "warning" },
  });
  return outputFiles[0].text;
}

const head = (title, links) =>
  `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escape(title)}</title><link rel="icon" href="data:,">${links}`;

/** Addresses are relative, so that the page also works behind a proxy that puts a path before it. */
function referencePage({ reference, start, style }) {
  return `<!doctype html>
<html lang="en">
<head>${head("Proofwright API", `<link rel="stylesheet" href="docs/style/${style}"><script defer src="docs/script/${reference}"></script><script type="module" src="docs/script/${start}"></script>`)}</head>
<body>
<header id="bar"><span class="here">Reference</span><a href="docs/guides">Guides</a><a href="./">Console</a><span id="said" role="status"></span><form id="login" hidden><input id="email" name="email" type="email" required autocomplete="username" placeholder="E-mail address" aria-label="E-mail address"><input name="password" type="password" required autocomplete="current-password" placeholder="Password" aria-label="Password"><button>Continue</button></form><button id="open" type="button">Sign in</button></header>
<noscript>The reference needs JavaScript. The document itself is at <a href="openapi.json">/openapi.json</a>.</noscript>
<div id="reference"></div>
</body>
</html>
`;
}

/** @returns files by the name of the page */
function writeGuides(Marked, style) {
  const names = new Map(groups().flatMap(({ pages }) => Object.entries(pages).map(([name, path]) => [path, name])));
  const titles = new Map([...names].map(([path, name]) => [name, plain(/^# (.+)$/m.exec(textOf(path))?.[1] ?? name)]));
  const files = {};
  for (const [path, name] of names) {
    const body = rendered(Marked, path, names);
    files[name] = `guides/${name}.html`;
    writeFileSync(join(OUTPUT, files[name]), guidePage({ name, titles, body, style, up: "../../" }));
  }
  const list = `<h1>Guides</h1>${navigation("", titles, "guides/")}`;
  writeFileSync(join(OUTPUT, "guides/index.html"), guidePage({ name: "", titles, body: list, style, up: "../" }));
  return files;
}

const plain = (markdown) => markdown.replace(/[`*]/g, "");
const slug = (text) =>
  plain(text)
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replace(/ /g, "-");

/** Renders without any HTML of the text itself; headings can be linked to, and other guides by their files. */
function rendered(Marked, path, names) {
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => escape(text),
      // A box to tick on paper: as a field it would need a name, and ticking it would do nothing.
      checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
      heading({ tokens, depth, text }) {
        const id = slug(text);
        const content = this.parser.parseInline(tokens);
        return depth === 1
          ? `<h1>${content}</h1>\n`
          : `<h${depth} id="${id}"><a href="#${id}">${content}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const target = targetOf(href, path, names);
        return target === undefined ? content : `<a href="${escape(target)}">${content}</a>`;
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, "th")}</thead><tbody>${token.rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>\n`;
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escape(text)}</code></pre>\n`,
    },
  });
  return marked.parse(textOf(path));
}

/** @returns where a link leads on the server; undefined for files that it does not serve */
function targetOf(href, path, names) {
  if (/^(https?:|#)/.test(href)) return href;
  const [file, fragment] = href.split("#");
  const name = names.get(relative(ROOT, join(ROOT, dirname(path), file)));
  return name === undefined ? undefined : fragment === undefined ? name : `${name}#${fragment}`;
}

function navigation(current, titles, prefix) {
  return groups()
    .map(({ title, pages }) => {
      const links = Object.keys(pages).map(
        (name) =>
          `<li><a href="${prefix}${name}"${name === current ? ' aria-current="page"' : ""}>${escape(titles.get(name))}</a></li>`,
      );
      return `<h2>${escape(title)}</h2><ul>${links.join("")}</ul>`;
    })
    .join("");
}

/** @param up the way from the page to the root of the server */
function guidePage({ name, titles, body, style, up }) {
  const title = titles.get(name) ?? "Guides";
  const main = name === "" ? `<nav aria-label="Guides">${body}</nav>` : body;
  const beside = name === "" ? "<div></div>" : `<nav aria-label="Guides">${navigation(name, titles, "")}</nav>`;
  return `<!doctype html>
<html lang="en">
<head>${head(`${title} · Proofwright`, `<link rel="stylesheet" href="${up}docs/style/${style}">`)}</head>
<body>
<header><a href="${up}docs">Reference</a><a class="here" href="${up}docs/guides">Guides</a><a href="${up}">Console</a></header>
<div class="columns">${beside}<main>${main}</main></div>
</body>
</html>
`;
}
