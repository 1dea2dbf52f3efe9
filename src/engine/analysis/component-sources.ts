/**
 * Finds the template of a component, and the line of a signal, by a light scan of the source: declarations of
 * components and signals by their words, without a parser. What the scan cannot tell stays unknown.
 */
import { withoutComments } from "../circuit/compiler/source-places.js";

/** A source file that the compiler has read. */
export interface SourceFile {
  /** As it is shown: relative, or `circomlib/...`. */
  readonly path: string;
  readonly text: string;
}

export interface TemplateSource {
  readonly name: string;
  readonly file: SourceFile;
}

export interface SignalPlace {
  readonly template?: string;
  readonly file?: string;
  /** From 1; of the statement `<--` or `<==` that sets the signal, or of its declaration. */
  readonly line?: number;
}

interface Template extends TemplateSource {
  /** Offset of the body in the file. */
  readonly offset: number;
  /** Without comments. */
  readonly body: string;
}

const NAME = "[A-Za-z_$][\\w$]*";
const DEFINITION = new RegExp(`\\btemplate\\s+(?:(?:custom|parallel|extern_c)\\s+)*(${NAME})\\s*\\(`, "g");
const MAIN = new RegExp(`\\bcomponent\\s+main\\b[^;=]*=\\s*(?:parallel\\s+)?(${NAME})\\s*\\(`);
/** The name that the compiler gives to `T()(...)`: template, number of the file, offset. */
const ANONYMOUS = new RegExp(`^(${NAME}?)_\\d+_\\d+$`);
const STEP = /^([A-Za-z_$][\w$]*)/;

/** Looks components up in the sources of one compilation. */
export class ComponentSources {
  readonly #templates = new Map<string, Template>();
  readonly #texts: ReadonlyMap<string, string>;
  readonly #main: string | undefined;
  readonly #children = new Map<string, string | undefined>();

  constructor(files: readonly SourceFile[]) {
    this.#texts = new Map(files.map(({ path, text }) => [path, text]));
    let main: string | undefined;
    for (const file of files) {
      const code = withoutComments(file.text);
      main ??= MAIN.exec(code)?.[1];
      for (const template of templatesIn(file, code))
        if (!this.#templates.has(template.name)) this.#templates.set(template.name, template);
    }
    this.#main = main;
  }

  /** Returns the text of a file that the compiler has read. */
  textOf(path: string): string | undefined {
    return this.#texts.get(path);
  }

  /** Returns the template of a component's path, such as `main.a.b[3]`; undefined when it is not certain. */
  templateOf(path: string): TemplateSource | undefined {
    return this.#find(path.split("."));
  }

  /** Returns where the signal of a path is set. */
  placeOf(path: string): SignalPlace {
    const parts = path.split(".");
    // Members of a bus have a path below the signal: the scan goes up to the component that it knows.
    for (let depth = parts.length - 1; depth >= 1; depth -= 1) {
      const template = this.#find(parts.slice(0, depth));
      const signal = STEP.exec(parts[depth] ?? "")?.[1];
      if (template === undefined || signal === undefined) continue;
      const line = lineOf(template, signal);
      return { template: template.name, file: template.file.path, ...(line === undefined ? {} : { line }) };
    }
    return {};
  }

  #find([root, ...parts]: readonly string[]): Template | undefined {
    let name = root === "main" ? this.#main : undefined;
    for (const part of parts) {
      if (name === undefined) return undefined;
      const step = STEP.exec(part)?.[1] ?? "";
      const key = `${name} ${step}`;
      if (!this.#children.has(key)) this.#children.set(key, this.#childOf(name, step));
      name = this.#children.get(key);
    }
    return name === undefined ? undefined : this.#templates.get(name);
  }

  /** The one template that a component name stands for in a template; undefined for none, or for several. */
  #childOf(template: string, component: string): string | undefined {
    const body = this.#templates.get(template)?.body ?? "";
    const name = component.replaceAll("$", "\\$");
    const assigned = new RegExp(
      `(?<![\\w$.])${name}\\s*(?:\\[[^=;]*\\])?\\s*=\\s*(?:parallel\\s+)?(${NAME})\\s*\\(`,
      "g",
    );
    const found = new Set(
      [...body.matchAll(assigned)].flatMap(([, called = ""]) => (this.#templates.has(called) ? [called] : [])),
    );
    if (found.size === 1) return [...found][0];
    const anonymous = ANONYMOUS.exec(component)?.[1];
    return found.size === 0 && anonymous !== undefined && this.#templates.has(anonymous) ? anonymous : undefined;
  }
}

function* templatesIn(file: SourceFile, code: string): Generator<Template> {
  for (const { index, 1: name = "" } of code.matchAll(DEFINITION)) {
    const start = code.indexOf("{", index);
    if (start < 0) continue;
    yield { name, file, offset: start, body: code.slice(start, endOfBlock(code, start)) };
  }
}

function endOfBlock(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at += 1) {
    const character = code[at];
    if (character === "{") depth += 1;
    else if (character === "}") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return code.length;
}

/** The unchecked assignment of a signal, else its checked one, else its declaration. */
function lineOf({ file, offset, body }: Template, signal: string): number | undefined {
  const name = `(?<![\\w$.])${signal.replaceAll("$", "\\$")}(?![\\w$])`;
  const patterns = [
    new RegExp(`${name}[^;={}]*<--`),
    new RegExp(`-->\\s*${name}`),
    new RegExp(`${name}[^;={}]*<==`),
    new RegExp(`==>\\s*${name}`),
    new RegExp(`\\bsignal\\b[^;]*?${name}`),
    new RegExp(name),
  ];
  for (const pattern of patterns) {
    const found = pattern.exec(body);
    if (found === null) continue;
    const inside = found[0].search(new RegExp(name));
    return file.text.slice(0, offset + found.index + Math.max(0, inside)).split("\n").length;
  }
  return undefined;
}
