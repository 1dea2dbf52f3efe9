/** Makes the source of a prover from dropped files: which of them count, under which paths, and which is the main. */

export interface DroppedFile {
  /** With slashes, as it was dropped. */
  readonly path: string;
  readonly text: string;
}

export interface PackedSource {
  /** Path to text. */
  readonly source: Readonly<Record<string, string>>;
  readonly main: string;
  /** Other files with a main component, any of which may be meant. */
  readonly others: readonly string[];
}

const CIRCOM = /\.circom$/;
const MAIN = /^\s*component\s+main\b/m;
const SKIPPED = /(^|\/)(node_modules|\.git)\//;

/**
 * Returns the source in dropped files. The folder that all are in is left out of the paths, as includes do not name it.
 * @throws Error with a sentence when nothing among them is a circuit
 */
export function packFiles(files: readonly DroppedFile[]): PackedSource {
  const circuits = files.filter(({ path }) => CIRCOM.test(path) && !SKIPPED.test(path));
  if (circuits.length === 0) throw new Error("There is no .circom file among these.");
  const root = commonFolder(circuits.map(({ path }) => path));
  const source = Object.fromEntries(
    circuits.map(({ path, text }) => [path.slice(root.length), text] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const mains = Object.keys(source).filter((path) => MAIN.test(withoutComments(source[path] ?? "")));
  const [first, ...rest] = mains.sort((a, b) => depthOf(a) - depthOf(b));
  if (first === undefined)
    throw new Error("None of these files has a main component. Add a line such as: component main = Circuit();");
  return { source, main: first, others: rest };
}

/** Returns the folder that all paths are in, with its slash; empty for none. */
export function commonFolder(paths: readonly string[]): string {
  const [first = "", ...rest] = paths;
  const parts = first.split("/").slice(0, -1);
  let length = parts.length;
  for (const path of rest) {
    const own = path.split("/").slice(0, -1);
    while (length > 0 && parts.slice(0, length).join("/") !== own.slice(0, length).join("/")) length -= 1;
  }
  return length === 0 ? "" : `${parts.slice(0, length).join("/")}/`;
}

/** A main component in a comment is none. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");
}

function depthOf(path: string): number {
  return path.split("/").length;
}
