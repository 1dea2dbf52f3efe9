/**
 * The file system of the circom compiler: a few maps in memory, with the synchronous calls of node:fs that its WASI
 * layer makes. It cannot reach the host's files, and it counts every byte, so that a compile cannot fill the memory
 * with output.
 */

/** A compile went over a byte limit; thrown through the compiler and caught by the caller. */
export class MemoryFsLimitError extends Error {
  override readonly name = "MemoryFsLimitError";
}

interface MemoryFsOptions {
  /** Bytes of all files together. */
  readonly bytesMax: number;
  /** Bytes kept of each terminal stream; further bytes are counted and dropped. */
  readonly terminalBytesKept: number;
  /** Bytes of terminal output after which the compile ends. */
  readonly terminalBytesMax: number;
  /** Is told what is printed, and of each file that is opened for writing. */
  readonly watcher?: { printed(text: Uint8Array): void; begun(path: string): void };
}

interface MemoryFile {
  bytes: Uint8Array;
  length: number;
}

interface OpenFile {
  readonly path: string;
  /** Absent for an opened folder. */
  readonly file: MemoryFile | undefined;
  readonly appends: boolean;
  position: number;
}

/** Offset in the array, length, and position in the file; null is the current position. */
type FilePlace = readonly [offset: number, length: number, position: number | null];

interface Stat {
  readonly dev: number;
  readonly ino: number;
  readonly nlink: number;
  readonly size: number;
  readonly atimeMs: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isCharacterDevice(): boolean;
  isBlockDevice(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
  isSymbolicLink(): boolean;
}

// Linux values; the WASI layer reads them from this object only, so they need not be the host's.
const FLAGS = {
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
  O_NONBLOCK: 0o4000,
  O_DSYNC: 0o10000,
  O_DIRECTORY: 0o200000,
  O_SYNC: 0o4010000,
  O_RSYNC: 0o4010000,
} as const;

const FIRST_DESCRIPTOR = 3;
/** The compiler opens one file at a time. */
const OPEN_FILES_MAX = 256;

/**
 * The files of one compilation. Paths are absolute, with "/" between names; the calls are those of node:fs with the
 * same names, and their errors have its codes.
 */
export class MemoryFs {
  readonly constants = FLAGS;
  readonly #options: MemoryFsOptions;
  readonly #files = new Map<string, MemoryFile>();
  readonly #folders = new Set<string>(["/"]);
  readonly #open = new Map<number, OpenFile>();
  readonly #read = new Set<string>();
  #lastRead: string | undefined;
  readonly #terminal = new Map<number, { text: Uint8Array[]; kept: number }>();
  #terminalBytes = 0;
  #fileBytes = 0;
  #nextDescriptor = FIRST_DESCRIPTOR;

  constructor(options: MemoryFsOptions) {
    this.#options = options;
  }

  /** Adds a file and the folders above it. The bytes are neither copied nor counted: they belong to the caller. */
  addFile(path: string, bytes: Uint8Array): void {
    this.addFolder(parentOf(path));
    this.#files.set(path, { bytes, length: bytes.length });
  }

  /** Adds a folder and the folders above it. */
  addFolder(path: string): void {
    for (let folder = path; !this.#folders.has(folder); folder = parentOf(folder)) this.#folders.add(folder);
  }

  /** Returns the bytes of a file, or undefined when the compiler never wrote it. */
  fileBytes(path: string): Uint8Array | undefined {
    const file = this.#files.get(path);
    return file === undefined ? undefined : file.bytes.subarray(0, file.length);
  }

  /** Returns what was written to descriptor 1 (output) or 2 (errors), up to `terminalBytesKept`. */
  terminalText(descriptor: 1 | 2): string {
    return Buffer.concat(this.#terminal.get(descriptor)?.text ?? []).toString("utf8");
  }

  /** Paths of the files that were opened for reading, in the order of their first opening. */
  get readPaths(): readonly string[] {
    return [...this.#read];
  }

  /** Path of the file that was opened for reading last. */
  get lastReadPath(): string | undefined {
    return this.#lastRead;
  }

  /** Opens a file or a folder. */
  openSync(path: string, flags: number): number {
    if (this.#open.size >= OPEN_FILES_MAX) throw fault("EMFILE");
    const opened = this.#folders.has(path) ? undefined : this.#openFile(path, flags);
    const isRead = (flags & (FLAGS.O_WRONLY | FLAGS.O_RDWR)) === 0;
    if (opened !== undefined && isRead) {
      this.#read.add(path);
      this.#lastRead = path;
    }
    if (!isRead) this.#options.watcher?.begun(path);
    const descriptor = this.#nextDescriptor;
    this.#nextDescriptor += 1;
    this.#open.set(descriptor, { path, file: opened, appends: (flags & FLAGS.O_APPEND) !== 0, position: 0 });
    return descriptor;
  }

  #openFile(path: string, flags: number): MemoryFile {
    const existing = this.#files.get(path);
    if ((flags & FLAGS.O_DIRECTORY) !== 0) throw fault(existing === undefined ? "ENOENT" : "ENOTDIR");
    if (existing !== undefined) {
      if ((flags & FLAGS.O_CREAT) !== 0 && (flags & FLAGS.O_EXCL) !== 0) throw fault("EEXIST");
      if ((flags & FLAGS.O_TRUNC) !== 0) existing.length = 0;
      return existing;
    }
    if ((flags & FLAGS.O_CREAT) === 0 || !this.#folders.has(parentOf(path))) throw fault("ENOENT");
    const file: MemoryFile = { bytes: new Uint8Array(0), length: 0 };
    this.#files.set(path, file);
    return file;
  }

  /** Closes a descriptor. */
  closeSync(descriptor: number): void {
    if (!this.#open.delete(descriptor)) throw fault("EBADF");
  }

  /**
   * Reads into an array; returns the number of bytes. Standard input is empty.
   * @param place offset in the array, length, and position in the file or null for the current one
   */
  readSync(descriptor: number, into: Uint8Array, ...place: FilePlace): number {
    const [offset, length, position] = place;
    if (descriptor === 0) return 0;
    const { open, file } = this.#openedFile(descriptor);
    const from = position ?? open.position;
    const part = file.bytes.subarray(Math.min(from, file.length), Math.min(from + length, file.length));
    into.set(part, offset);
    if (position === null) open.position += part.length;
    return part.length;
  }

  /**
   * Writes from an array; returns the number of bytes.
   * @param place offset in the array, length, and position in the file or null for the current one
   * @throws MemoryFsLimitError when the files or the terminal output become too large
   */
  writeSync(descriptor: number, from: Uint8Array, ...place: FilePlace): number {
    const [offset, length, position] = place;
    const part = from.subarray(offset, offset + length);
    if (descriptor === 1 || descriptor === 2) return this.#writeTerminal(descriptor, part);
    const { open, file } = this.#openedFile(descriptor);
    const at = open.appends ? file.length : (position ?? open.position);
    this.#reserve(file, at + part.length);
    file.bytes.set(part, at);
    file.length = Math.max(file.length, at + part.length);
    if (position === null) open.position = at + part.length;
    return part.length;
  }

  #writeTerminal(descriptor: number, part: Uint8Array): number {
    this.#terminalBytes += part.length;
    if (this.#terminalBytes > this.#options.terminalBytesMax)
      throw new MemoryFsLimitError("the compiler printed too much");
    this.#options.watcher?.printed(part);
    const stream = this.#terminal.get(descriptor) ?? { text: [], kept: 0 };
    const kept = part.slice(0, Math.max(0, this.#options.terminalBytesKept - stream.kept));
    if (kept.length > 0) {
      stream.text.push(kept);
      stream.kept += kept.length;
    }
    this.#terminal.set(descriptor, stream);
    return part.length;
  }

  /** Grows a file by doubling; the limit counts what is reserved, because that is what takes memory. */
  #reserve(file: MemoryFile, length: number): void {
    if (length <= file.bytes.length) return;
    const capacity = Math.max(length, file.bytes.length * 2, 4096);
    this.#fileBytes += capacity - file.bytes.length;
    if (this.#fileBytes > this.#options.bytesMax) throw new MemoryFsLimitError("the compiled circuit is too large");
    const grown = new Uint8Array(capacity);
    grown.set(file.bytes.subarray(0, file.length));
    file.bytes = grown;
  }

  #openedFile(descriptor: number): { open: OpenFile; file: MemoryFile } {
    const open = this.#open.get(descriptor);
    if (open === undefined) throw fault("EBADF");
    if (open.file === undefined) throw fault("EISDIR");
    return { open, file: open.file };
  }

  /** Returns type and size of a file or folder. */
  statSync(path: string): Stat {
    const file = this.#files.get(path);
    if (file !== undefined) return statOf("file", file.length);
    if (this.#folders.has(path)) return statOf("folder", 0);
    throw fault("ENOENT");
  }

  /** Returns type and size of an open file. */
  fstatSync(descriptor: number): Stat {
    if (descriptor < FIRST_DESCRIPTOR) return statOf("terminal", 0);
    const open = this.#open.get(descriptor);
    if (open === undefined) throw fault("EBADF");
    return open.file === undefined ? statOf("folder", 0) : statOf("file", open.file.length);
  }

  /** Returns the path: there are no links. */
  realpathSync(path: string): string {
    if (!this.#files.has(path) && !this.#folders.has(path)) throw fault("ENOENT");
    return path;
  }

  /** Makes a folder. */
  mkdirSync(path: string): void {
    if (this.#files.has(path) || this.#folders.has(path)) throw fault("EEXIST");
    if (!this.#folders.has(parentOf(path))) throw fault("ENOENT");
    this.#folders.add(path);
  }

  /** Lists a folder. */
  readdirSync(path: string): { readonly name: string }[] {
    if (!this.#folders.has(path)) throw fault("ENOENT");
    const paths = [...this.#files.keys(), ...this.#folders].filter(
      (other) => other !== "/" && parentOf(other) === path,
    );
    return paths.map((other) => ({ name: other.slice(other.lastIndexOf("/") + 1) }));
  }

  /** Removes a file. */
  unlinkSync(path: string): void {
    if (!this.#files.delete(path)) throw fault("ENOENT");
  }

  /** Removes an empty folder. */
  rmdirSync(path: string): void {
    if (path === "/" || !this.#folders.delete(path)) throw fault("ENOENT");
  }

  /** Renames a file. */
  renameSync(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file === undefined) throw fault("ENOENT");
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  /** Sets the length of an open file. */
  ftruncateSync(descriptor: number, length: number): void {
    const { file } = this.#openedFile(descriptor);
    this.#reserve(file, length);
    if (length > file.length) file.bytes.fill(0, file.length, length);
    file.length = length;
  }

  /** Fails: there are no links. */
  readlinkSync(_path: string): never {
    throw fault("EINVAL");
  }

  /** Fails: there are no links. */
  linkSync(_from: string, _to: string): never {
    throw fault("ENOSYS");
  }

  /** Fails: there are no links. */
  symlinkSync(_from: string, _to: string): never {
    throw fault("ENOSYS");
  }

  /** Does nothing: there is no disk. */
  fsyncSync(_descriptor: number): void {}

  /** Does nothing: there is no disk. */
  fdatasyncSync(_descriptor: number): void {}

  /** Does nothing: files have no times. */
  utimesSync(_path: string): void {}

  /** Does nothing: files have no times. */
  futimesSync(_descriptor: number): void {}
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

/** Makes an error that the WASI layer turns into an errno; the compiler's search for includes relies on ENOENT. */
function fault(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function statOf(kind: "file" | "folder" | "terminal", size: number): Stat {
  return {
    dev: 0,
    ino: 0,
    nlink: 1,
    size,
    atimeMs: 0,
    mtimeMs: 0,
    ctimeMs: 0,
    isFile: () => kind === "file",
    isDirectory: () => kind === "folder",
    isCharacterDevice: () => kind === "terminal",
    isBlockDevice: () => false,
    isFIFO: () => false,
    isSocket: () => false,
    isSymbolicLink: () => false,
  };
}
