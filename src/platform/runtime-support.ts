/**
 * Which Nodes and systems the server runs on, and what it says where it cannot: one sentence in place of a stack of a
 * package's loader.
 */

/** Where the process runs. */
export interface Runtime {
  /** `process.versions.node` */
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
}

/** The major versions on which the tests run. */
const TRIED_MAJORS: readonly number[] = [20, 22, 24, 26];
/** The first of Node 20 that loads ES modules by `require`, which packages need. */
const OLDEST = { major: 20, minor: 19 };

/** Says that this Node is too old; undefined when it is not. */
export function tooOldSentence({ node }: Pick<Runtime, "node">): string | undefined {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return undefined;
  return `Node ${node} is too old: this server needs Node ${String(OLDEST.major)}.${String(OLDEST.minor)} or later, best 24 or 26.`;
}

/** Says that this Node's major version is one on which nobody has tried the server; undefined when it is another. */
export function untriedSentence({ node }: Pick<Runtime, "node">): string | undefined {
  const major = Number(node.split(".")[0]);
  if (TRIED_MAJORS.includes(major)) return undefined;
  return `this version of the server has not been tried on Node ${String(major)}: it is tested on ${TRIED_MAJORS.join(", ")}`;
}

/**
 * Returns the signals that ask the server to stop. Windows has those of its console alone: Ctrl-C, Ctrl-Break, and the
 * closing of its window, after which it ends the process within ten seconds; whoever sends a SIGTERM there ends it at
 * once.
 */
export function stopSignals(platform: NodeJS.Platform): readonly NodeJS.Signals[] {
  return platform === "win32" ? ["SIGINT", "SIGBREAK", "SIGHUP"] : ["SIGTERM", "SIGINT"];
}

/** What loaders of native packages say: lmdb's, that of argon2, and the one of Node itself. */
const NATIVE_FAILURES = [
  /No native build was found/,
  /Cannot find native binding/,
  /Failed to load native binding/,
  /Module did not self-register/,
  /was compiled against a different Node\.js version/,
];
const PACKAGE_IN_PATH = /node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\'"]+)/g;
const MISSING_PACKAGE = /Cannot find (?:package|module) '((?:@[^/']+\/)?[^./'][^/']*)/;
const CAUSES_MAX = 4;

/**
 * Returns the sentence for a program that could not be loaded: a native package has no binary that loads here, or a
 * package is not installed. Undefined for every other error.
 */
export function loadFailureSentence(error: unknown, { node, platform, arch }: Runtime): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < CAUSES_MAX; depth += 1) {
    const { message, stack = "" } = current;
    const code = "code" in current ? current.code : undefined;
    if (code === "ERR_DLOPEN_FAILED" || NATIVE_FAILURES.some((pattern) => pattern.test(message))) {
      const named = [...`${message}\n${stack}`.matchAll(PACKAGE_IN_PATH)]
        .map(([, name = ""]) => name.replaceAll("\\", "/"))
        .find((name) => name !== "node-gyp-build-optional-packages");
      return `${named === undefined ? "a native package" : `the native package ${named}`} has no binary that loads in Node ${node} on ${platform} ${arch}. If the system or Node has changed since the install, run \`npm ci\` again; the README lists what runs where.`;
    }
    const missing = MISSING_PACKAGE.exec(message)?.[1];
    if ((code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && missing !== undefined)
      return `the package ${missing} is not installed: run \`npm ci\`.`;
    current = current.cause;
  }
  return undefined;
}
