/**
 * Finds statements in circom source by their words, for findings that the compiler prints without a place. No parser:
 * it looks only for what the compiler has named.
 */
import type { ReportPlace } from "./compiler-report.js";

/** The sources that the compiler has read, by the path that it knows. */
export interface ReadSources {
  /** In the order of reading. */
  readonly paths: readonly string[];
  readonly mainPath: string;
  /** The file that the compiler read last. */
  readonly lastPath: string;
  readonly textOf: (path: string) => string | undefined;
}

type Definition = "template" | "function";

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
const DEFINITION = /\b(template|bus|function)\s+(?:(?:custom|parallel|extern_c)\s+)*([A-Za-z_$][\w$]*)/g;
const INCLUDE = /\binclude\s*"([^"]*)"/g;

/** Returns the code with blanks in place of comments, so that offsets, lines and columns stay. */
export function withoutComments(text: string): string {
  return text.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, " "));
}

/**
 * The same with blanks of as many UTF-8 bytes as what they stand for: the compiler names anonymous components by the
 * number of bytes before them.
 */
export function withBlankComments(text: string): string {
  return text.replace(COMMENT, (comment) => comment.replace(/[^\n]/gu, blankOf));
}

/** No-break and em spaces are blanks of two and three bytes to the compiler as well. */
function blankOf(character: string): string {
  const bytes = Buffer.byteLength(character);
  return bytes === 1 ? " " : bytes === 3 ? "\u2003" : "\u00a0".repeat(bytes / 2);
}

interface Offset {
  readonly path: string;
  /** In UTF-16 units from the start of the file. */
  readonly offset: number;
}

/** Looks places up in the sources of one compilation; every file is read and cleared of comments once at most. */
export class SourcePlaces {
  readonly #sources: ReadSources;
  readonly #codes = new Map<string, string>();
  /** Offsets and not places: a place takes a pass over the file, and few are asked for. */
  #definitions: Map<string, Offset> | undefined;

  constructor(sources: ReadSources) {
    this.#sources = sources;
  }

  /** Finds the statement that includes `name`, in the file that the compiler read last. */
  include(name: string): ReportPlace | undefined {
    const path = this.#sources.lastPath;
    const found = [...this.#code(path).matchAll(INCLUDE)].find(([, included]) => included === name);
    return found === undefined ? undefined : this.#placeAt(path, found.index);
  }

  /** The start of the main file, for findings about the whole source. */
  start(): ReportPlace {
    return { file: this.#sources.mainPath, line: 1, column: 1 };
  }

  /** Finds the directive that names the language version; the start of the file when there is none. */
  pragma(path: string): ReportPlace | undefined {
    if (this.#sources.textOf(path) === undefined) return undefined;
    return this.#placeAt(path, Math.max(0, this.#code(path).search(/\bpragma\s+circom\b/)));
  }

  /** Finds a definition; with `symbol`, the place in it that names this symbol first, which declares it. */
  definition(kind: Definition, name: string, symbol?: string): ReportPlace | undefined {
    this.#definitions ??= this.#findDefinitions();
    const found = this.#definitions.get(`${kind} ${name}`);
    if (found === undefined) return undefined;
    const { path, offset } = found;
    if (symbol === undefined) return this.#placeAt(path, offset);
    const code = this.#code(path);
    const declared = new RegExp(`(?<![\\w$])${symbol.replaceAll("$", "\\$")}(?![\\w$])`, "g");
    const bodyAt = code.indexOf("{", offset);
    declared.lastIndex = bodyAt < 0 ? offset : bodyAt;
    return this.#placeAt(path, declared.exec(code)?.index ?? offset);
  }

  #findDefinitions(): Map<string, Offset> {
    const all = this.#sources.paths.flatMap((path) =>
      [...this.#code(path).matchAll(DEFINITION)].map(
        ({ index, 1: kind = "", 2: name = "" }) => [`${kind} ${name}`, { path, offset: index }] as const,
      ),
    );
    return new Map(all.reverse());
  }

  #code(path: string): string {
    const known = this.#codes.get(path);
    if (known !== undefined) return known;
    const code = withoutComments(this.#sources.textOf(path) ?? "");
    this.#codes.set(path, code);
    return code;
  }

  #placeAt(path: string, offset: number): ReportPlace {
    const before = this.#code(path).slice(0, offset);
    const lineStart = before.lastIndexOf("\n") + 1;
    return {
      file: path,
      line: before.split("\n").length,
      column: Array.from(before.slice(lineStart)).length + 1,
    };
  }
}
