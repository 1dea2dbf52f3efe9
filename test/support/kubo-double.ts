/**
 * A local stand-in for a kubo node: the part of its RPC API that the ipfs driver uses, answering as
 * docs.ipfs.tech/reference/kubo/rpc says (POST only, NDJSON of `add`, texts of sizes, 500 with {Message, Code, Type}).
 * Content gets its real CIDv0: UnixFS in dag-pb, chunks of 256 KiB, balanced, as `ipfs add` makes it;
 * ipfs-driver.test.ts checks that against published CIDs.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { base58 } from "@scure/base";

interface Block {
  readonly cid: string;
  readonly type: "file" | "directory";
  readonly content: Buffer;
  /** Bytes of all blocks below, as kubo counts them. */
  readonly cumulative: number;
  readonly blocks: number;
  readonly links: readonly { readonly name: string; readonly block: Block }[];
}

export interface KuboDouble {
  readonly url: string;
  readonly port: number;
  /** Requests as `command?query`, in order. */
  readonly requests: string[];
  readonly pins: Set<string>;
  /** Present from now on, unpinned, as if another node had it. */
  hold(content: Buffer): string;
  /** What the node does with the next requests. */
  mode: "sound" | "hang" | "garbage" | "broken";
  stop(): Promise<void>;
}

const CHUNK_BYTES = 262_144;
const DIRECTORY = 1;
const FILE = 2;

/** @param options.authorization the only value of that header that is let in (kubo's API.Authorizations) */
export async function startKubo(
  options: { readonly authorization?: string; readonly port?: number } = {},
): Promise<KuboDouble> {
  const held = new Map<string, Block>();
  const keep = (block: Block): Block => {
    held.set(block.cid, block);
    block.links.forEach((link) => keep(link.block));
    return block;
  };
  const double = { requests: [] as string[], pins: new Set<string>(), mode: "sound" as KuboDouble["mode"] };
  const server = createServer((incoming, answer) => {
    void handle(incoming, answer, { double, held, keep, authorization: options.authorization });
  });
  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(double, {
    url: `http://127.0.0.1:${String(port)}`,
    port,
    hold: (content: Buffer) => keep(fileBlock(content)).cid,
    stop: async () => {
      await stopServer(server);
    },
  });
}

/** CID, size and type of content, worked out as `ipfs add` does. */
export function fileBlock(content: Buffer): Block {
  const chunks = Array.from({ length: Math.max(1, Math.ceil(content.length / CHUNK_BYTES)) }, (_, index) =>
    content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
  const leaves = chunks.map((chunk) => ({
    size: chunk.length,
    node: pbNode([], unixFs(FILE, chunk.length, chunk, [])),
  }));
  const [only] = leaves;
  if (leaves.length === 1)
    return { cid: cidOf(only!.node), type: "file", content, cumulative: only!.node.length, blocks: 0, links: [] };
  const links = leaves.map(({ node }) => ({ name: "", hash: hashOf(node), size: node.length }));
  const root = pbNode(
    links,
    unixFs(
      FILE,
      content.length,
      undefined,
      leaves.map(({ size }) => size),
    ),
  );
  return {
    cid: cidOf(root),
    type: "file",
    content,
    cumulative: root.length + links.reduce((sum, { size }) => sum + size, 0),
    blocks: leaves.length,
    links: [],
  };
}

export function directoryBlock(entries: readonly { readonly name: string; readonly block: Block }[]): Block {
  const sorted = [...entries].sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  const node = pbNode(
    sorted.map(({ name, block }) => ({ name, hash: base58.decode(block.cid), size: block.cumulative })),
    unixFs(DIRECTORY, undefined, undefined, []),
  );
  return {
    cid: cidOf(node),
    type: "directory",
    content: Buffer.alloc(0),
    cumulative: node.length + sorted.reduce((sum, { block }) => sum + block.cumulative, 0),
    blocks: entries.length,
    links: sorted,
  };
}

interface Parts {
  readonly double: { readonly requests: string[]; readonly pins: Set<string>; mode: KuboDouble["mode"] };
  readonly held: Map<string, Block>;
  readonly keep: (block: Block) => Block;
  readonly authorization: string | undefined;
}

async function handle(incoming: IncomingMessage, answer: ServerResponse, parts: Parts): Promise<void> {
  const url = new URL(incoming.url ?? "/", "http://kubo");
  const body = await readAll(incoming);
  parts.double.requests.push(url.pathname.replace("/api/v0/", "") + url.search);
  if (parts.double.mode === "hang") return;
  if (parts.double.mode === "garbage") {
    answer.end("<html>not an IPFS node</html>");
    return;
  }
  if (parts.double.mode === "broken") {
    incoming.socket.destroy();
    return;
  }
  if (incoming.method !== "POST") {
    answer.writeHead(405).end("405 - Method Not Allowed\n");
    return;
  }
  if (parts.authorization !== undefined && incoming.headers.authorization !== parts.authorization) {
    answer.writeHead(403).end("Kubo RPC Access Denied\n");
    return;
  }
  const command = COMMANDS[url.pathname.replace("/api/v0/", "")];
  if (command === undefined) {
    answer.writeHead(404).end("404 page not found\n");
    return;
  }
  try {
    const result = command({
      ...parts,
      query: url.searchParams,
      body,
      contentType: incoming.headers["content-type"] ?? "",
    });
    answer.writeHead(200, {
      "content-type": Buffer.isBuffer(result) ? "text/plain" : "application/json",
      "x-chunked-output": "1",
    });
    answer.end(
      Buffer.isBuffer(result)
        ? result
        : Array.isArray(result)
          ? result.map((line) => `${JSON.stringify(line)}\n`).join("")
          : JSON.stringify(result),
    );
  } catch (error) {
    answer
      .writeHead(500, { "content-type": "application/json" })
      .end(JSON.stringify({ Message: (error as Error).message, Code: 0, Type: "error" }));
  }
}

interface Call extends Parts {
  readonly query: URLSearchParams;
  readonly body: Buffer;
  readonly contentType: string;
}

const COMMANDS: Readonly<Record<string, (call: Call) => unknown>> = {
  version: () => ({ Version: "0.39.0", Commit: "2896aed", Repo: "18", System: "amd64/linux", Golang: "go1.25.4" }),
  add: ({ body, contentType, keep, double, query }) => {
    const added = addParts(parseMultipart(body, contentType));
    const root = added.at(-1)!;
    keep(root.block);
    if (query.get("pin") !== "false") double.pins.add(root.block.cid);
    return added.map(({ name, block }) => ({ Name: name, Hash: block.cid, Size: String(block.cumulative) }));
  },
  cat: (call) => {
    const block = resolve(call);
    if (block.type === "directory") throw new Error("this dag node is a directory");
    return block.content;
  },
  "pin/add": (call) => {
    const { cid } = resolve(call);
    call.double.pins.add(cid);
    return { Pins: [cid] };
  },
  "pin/rm": (call) => {
    const { cid } = resolve(call);
    if (!call.double.pins.delete(cid)) throw new Error("not pinned or pinned indirectly");
    return { Pins: [cid] };
  },
  "pin/ls": ({ double, query }) =>
    query.get("type") === "recursive" && double.pins.size > 0
      ? { Keys: Object.fromEntries([...double.pins].map((cid) => [cid, { Type: "recursive", Name: "" }])) }
      : {},
  "files/stat": (call) => {
    const { cid, content, cumulative, blocks, type } = resolve(call);
    return { Hash: cid, Size: content.length, CumulativeSize: cumulative, Blocks: blocks, Type: type };
  },
  ls: (call) => {
    const { cid, links } = resolve(call);
    return {
      Objects: [
        {
          Hash: cid,
          Links: links.map(({ name, block }) => ({
            Name: name,
            Hash: block.cid,
            Size: block.content.length,
            Type: block.type === "directory" ? DIRECTORY : FILE,
            Target: "",
          })),
        },
      ],
    };
  },
};

function resolve({ query, held }: Call): Block {
  const path = query.get("arg") ?? "";
  const cid = /^\/ipfs\/(\w+)$/.exec(path)?.[1];
  if (cid === undefined) throw new Error(`invalid path "${path}": selected encoding not supported`);
  const block = held.get(cid);
  // What nobody provides is looked for until the time is up.
  if (block === undefined) throw new Error("context deadline exceeded");
  return block;
}

/** Files first, then the directory that holds them. */
function addParts(
  parts: readonly { readonly path: string; readonly isDirectory: boolean; readonly content: Buffer }[],
): { name: string; block: Block }[] {
  const files = parts
    .filter(({ isDirectory }) => !isDirectory)
    .map(({ path, content }) => ({ name: path, block: fileBlock(content) }));
  const folder = parts.find(({ isDirectory }) => isDirectory)?.path;
  if (folder === undefined) return files;
  return [
    ...files,
    {
      name: folder,
      block: directoryBlock(files.map(({ name, block }) => ({ name: name.slice(folder.length + 1), block }))),
    },
  ];
}

function parseMultipart(body: Buffer, contentType: string): { path: string; isDirectory: boolean; content: Buffer }[] {
  const boundary = /boundary=(\S+)/.exec(contentType)?.[1];
  if (boundary === undefined) throw new Error("file argument 'path' is required");
  const marker = Buffer.from(`--${boundary}`);
  const parts: { path: string; isDirectory: boolean; content: Buffer }[] = [];
  for (let start = body.indexOf(marker); start >= 0;) {
    const next = body.indexOf(marker, start + marker.length);
    if (next < 0) break;
    const part = body.subarray(start + marker.length + 2, next - 2);
    const end = part.indexOf("\r\n\r\n");
    const head = part.subarray(0, end).toString("utf8");
    const path = /filename="([^"]*)"/.exec(head)?.[1];
    if (path === undefined) throw new Error("a part without a filename");
    parts.push({
      path: decodeURIComponent(path),
      isDirectory: /application\/x-directory/i.test(head),
      content: part.subarray(end + 4),
    });
    start = next;
  }
  return parts;
}

function unixFs(
  type: number,
  size: number | undefined,
  data: Buffer | undefined,
  blockSizes: readonly number[],
): Buffer {
  return Buffer.concat([
    Buffer.of(0x08, type),
    ...(data === undefined || data.length === 0 ? [] : [Buffer.of(0x12), varint(data.length), data]),
    ...(size === undefined ? [] : [Buffer.of(0x18), varint(size)]),
    ...blockSizes.flatMap((block) => [Buffer.of(0x20), varint(block)]),
  ]);
}

/** Links come before the data, whatever their numbers (dag-pb). */
function pbNode(
  links: readonly { readonly name: string; readonly hash: Uint8Array; readonly size: number }[],
  data: Buffer,
): Buffer {
  const encoded = links.map(({ name, hash, size }) => {
    const text = Buffer.from(name);
    const link = Buffer.concat([
      Buffer.of(0x0a),
      varint(hash.length),
      hash,
      Buffer.of(0x12),
      varint(text.length),
      text,
      Buffer.of(0x18),
      varint(size),
    ]);
    return Buffer.concat([Buffer.of(0x12), varint(link.length), link]);
  });
  return Buffer.concat([...encoded, Buffer.of(0x0a), varint(data.length), data]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

function hashOf(node: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x12, 0x20), createHash("sha256").update(node).digest()]);
}

function cidOf(node: Buffer): string {
  return base58.encode(hashOf(node));
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function stopServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}
