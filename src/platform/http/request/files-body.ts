/**
 * The stage that turns a body of files into the JSON body of its route: a form with files, or an archive. What it
 * unpacks to is bounded by the route and counted with all bodies in flight.
 */
import { isUtf8 } from "node:buffer";
import {
  CollectedFiles,
  filesInvalid,
  requireSafePath,
  shownName,
  type FileLimits,
} from "../../archive/collected-files.js";
import { readTarGz, type ArchiveLimits } from "../../archive/read-tar.js";
import { isTextMember, jsonExample } from "../../contract/body-members.js";
import type { BodyLimits, FilesBody } from "../../contract/route.js";
import { AppError, invalidMember } from "../../errors.js";
import type { CompiledRoute } from "../compiled-route.js";
import { findJsonFault, parseJson, type JsonLimits } from "../../json/json-scan.js";
import { requireJson, requireUncompressed, type ReadBody } from "./body-form.js";
import type { BodyCollector } from "./body.js";
import { readParts, type FormPart } from "./multipart.js";
import type { RequestHead } from "./request-head.js";

/** A body that came as files. */
export interface SentFiles {
  readonly body: BodyCollector;
  readonly bytes: Buffer;
  /** Checked parameters of the query: members of the body beside an archive. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly ownLimits: BodyLimits | undefined;
}

type Media = "form" | "archive";
type Members = Map<string, unknown>;

const FORM_TYPE = "multipart/form-data";
/** RFC 6713 registers the first; the second is what it replaced. */
const ARCHIVE_TYPES: ReadonlySet<string> = new Set(["application/gzip", "application/x-gzip"]);
const TYPES_TAKEN = "application/json, multipart/form-data or application/gzip";
const ARCHIVE_NAME = /\.(?:tar\.gz|tgz)$/i;
/** Fields beside the files: more than a body has members. */
const FIELDS_MAX = 64;
/** An archive of a project has folders, tests and texts beside its source. */
const OTHER_FILES_FACTOR = 4;
/** A header, one for a long name, and what fills the last block of each. */
const ENTRY_BYTES = 2048;

/** Whether a body comes as a form with files or as an archive; never on routes that take neither. */
export function isOfFiles(route: CompiledRoute["route"], head: RequestHead): boolean {
  return route.filesBody !== undefined && mediaOf(head) !== undefined;
}

/**
 * Refuses what cannot be the JSON body of a route that takes files too: another media type, no body, or parameters of
 * the query that belong to an archive.
 * @throws unsupported_media_type, files_invalid, malformed_request or invalid_request
 */
export function requireJsonBody(head: RequestHead, { bytes, query }: Pick<SentFiles, "bytes" | "query">): void {
  const media = mediaOf(head);
  const contentType = head.headers["content-type"];
  if (bytes.length === 0) {
    if (media === "archive") throw filesInvalid("the archive is empty");
    if (media === "form") throw new AppError("malformed_request", { message: "the form is empty" });
  }
  if (bytes.length > 0 || contentType !== undefined) requireJson(contentType, TYPES_TAKEN);
  if (bytes.length === 0)
    throw new AppError("invalid_request", { message: "the body: JSON, a form or an archive is required" });
  requireNoArchiveQuery(query);
}

/**
 * Returns the body that the files and the members beside them make, checked by the route's schema.
 * @throws malformed_request, unsupported_media_type, files_invalid, files_too_large, overloaded,
 *   invalid_request or unknown_member
 */
export async function readFilesBody(
  compiled: CompiledRoute,
  head: RequestHead,
  { body, bytes, query, ownLimits }: SentFiles,
): Promise<ReadBody> {
  const { route, validator, jsonLimits } = compiled;
  const { filesBody } = route;
  if (filesBody === undefined) throw new AppError("unsupported_media_type", { message: "expected application/json" });
  requireUncompressed(head);
  const limits: FileLimits = ownLimits?.files ?? filesBody;
  const reserve = (size: number): void => {
    body.reserve(size);
  };
  const files = new CollectedFiles({ ...limits, extension: filesBody.extension, reserve });
  const fields: Members = new Map();
  const context = { compiled, filesBody, files, fields, jsonLimits, archive: archiveLimits(limits), archives: [] };
  if (mediaOf(head) === "archive") {
    for (const [name, text] of Object.entries(query)) addField(context, name, String(text));
    await addArchive(context, "body", bytes);
  } else {
    requireNoArchiveQuery(query);
    const partsMax = limits.filesMax + FIELDS_MAX;
    for (const part of readParts(bytes, head.headers["content-type"] ?? "", { partsMax })) await addPart(context, part);
  }
  return validator.body(merged(context));
}

/** Parameters of the query belong to an archive. */
function requireNoArchiveQuery(query: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(query);
  if (name === undefined) return;
  throw invalidMember(name, `${name}: belongs in the body; the query has it only beside an archive`);
}

function mediaOf({ headers }: RequestHead): Media | undefined {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === FORM_TYPE) return "form";
  return ARCHIVE_TYPES.has(type) ? "archive" : undefined;
}

interface FilesContext {
  readonly compiled: CompiledRoute;
  readonly filesBody: FilesBody;
  readonly files: CollectedFiles;
  readonly fields: Members;
  readonly jsonLimits: JsonLimits;
  readonly archive: ArchiveLimits;
  /** Names of the archives that were read. */
  readonly archives: string[];
}

function archiveLimits({ bytesMax, filesMax }: FileLimits): ArchiveLimits {
  const entriesMax = OTHER_FILES_FACTOR * filesMax;
  return { entriesMax, bytesMax: OTHER_FILES_FACTOR * bytesMax + entriesMax * ENTRY_BYTES };
}

async function addPart(context: FilesContext, { name, filename, type, content }: FormPart): Promise<void> {
  const { filesBody } = context;
  if (name === filesBody.part) addMembers(context, content);
  else if (filename === undefined) addField(context, name, textOf(content));
  else if (ARCHIVE_TYPES.has(type) || ARCHIVE_NAME.test(filename)) await addArchive(context, filename, content);
  else addFile(context, filename, content);
}

/** A second archive would have the limits of the first once more. */
async function addArchive(
  { files, filesBody, archive, archives }: FilesContext,
  name: string,
  packed: Buffer,
): Promise<void> {
  if (archives.length > 0) throw filesInvalid(`a form may have one archive; ${shownName(name)} is a second one`);
  archives.push(name);
  const before = files.texts.size;
  await readTarGz(packed, files, archive);
  if (files.texts.size === before) throw filesInvalid(`the archive has no ${filesBody.extension} file`);
}

/** A file that was sent by itself is meant: it is not left out, whatever its name. */
function addFile({ files, filesBody }: FilesContext, filename: string, content: Buffer): void {
  const path = requireSafePath(filename);
  if (files.announce(path, content.length)) files.keep(path, content);
  else throw filesInvalid(`the files of a form are named with their relative path and end in ${filesBody.extension}`);
}

function addMembers({ filesBody, fields, jsonLimits }: FilesContext, content: Buffer): void {
  const { part } = filesBody;
  const members = parseMember(content, jsonLimits, { name: part, example: '{"name": "value"}' });
  if (typeof members !== "object" || members === null || Array.isArray(members))
    throw invalidMember(part, `${part}: expected a JSON object`);
  for (const [name, value] of Object.entries(members)) addMember(fields, name, value);
}

function addField({ compiled, fields, jsonLimits }: FilesContext, name: string, text: string): void {
  const { body } = compiled.route;
  const value = isTextMember(body, name)
    ? text
    : parseMember(Buffer.from(text, "utf8"), jsonLimits, { name, example: jsonExample(body, name) });
  addMember(fields, name, value);
}

/** Names the member, unlike the fault of a whole body: its sender wrote no JSON elsewhere. */
function parseMember(
  bytes: Buffer,
  limits: JsonLimits,
  { name, example }: { readonly name: string; readonly example: string },
): unknown {
  const fault = findJsonFault(bytes, limits);
  if (fault !== undefined) throw invalidMember(name, `${name}: expected JSON such as ${example}: ${fault}`);
  return parseJson(bytes);
}

function addMember(fields: Members, name: string, value: unknown): void {
  if (fields.has(name)) throw invalidMember(name, `${name}: given more than once`);
  fields.set(name, value);
}

function textOf(content: Buffer): string {
  if (!isUtf8(content)) throw new AppError("malformed_request", { message: "a field of the form is not valid UTF-8" });
  return content.toString("utf8");
}

function merged({ filesBody: { member }, fields, files }: FilesContext): Record<string, unknown> {
  if (files.texts.size > 0) addMember(fields, member, Object.fromEntries(files.texts));
  return Object.fromEntries(fields);
}
