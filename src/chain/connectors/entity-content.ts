/** The content of entities: decoded and limited as it comes in (RFC 2397 for `data_url`), and encoded for answers. */
import { AppError, invalidMember } from "../../platform/errors.js";
import {
  ENTITY_BYTES_MAX,
  ENTITY_CONTENT_BYTES_MAX,
  ENTITY_TEXT_BYTES_MAX,
  METADATA_BYTES_MAX,
  type Entity,
  type EntityInput,
} from "./connector-schemas.js";
import type { EntityContent } from "./drivers/driver.js";

interface Decoded {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

const TEXT_TYPE = "text/plain";
const BINARY_TYPE = "application/octet-stream";
/** Longest text before the comma of a data URL. */
const HEAD_LENGTH_MAX = 300;
const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+$/;

/** Decodes the content of a request. Throws `connector_config_invalid` and `body_too_large`. */
export function contentOf(input: EntityInput): EntityContent {
  const sources = (["data_url", "raw", "hash", "children"] as const).filter(
    (member) => input[member] !== undefined && input[member] !== null,
  );
  if (sources.length > 1)
    throw refused(sources[1] ?? "", `give one of data_url, raw, hash and children, not ${sources.join(" and ")}`);
  const { metadata } = input;
  if (metadata !== undefined && metadata !== null && Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES_MAX)
    throw refused("metadata", `metadata: more than ${String(METADATA_BYTES_MAX)} bytes of JSON`);
  const own = decoded(input, "data_url");
  const children = childrenOf(input);
  const total = children.reduce((sum, { bytes }) => sum + bytes.length, own?.bytes.length ?? 0);
  if (total > ENTITY_BYTES_MAX)
    throw new AppError("body_too_large", { message: `the content is larger than ${String(ENTITY_BYTES_MAX)} bytes` });
  return { input, bytes: own?.bytes, mediaType: input.type ?? own?.mediaType, children };
}

/**
 * Encodes content for an answer: as a data URL up to 4 MiB, and as text where it is text of up to 1 MiB.
 * @param type media type, where it is known
 */
export function contentOnWire(
  content: Uint8Array | undefined,
  type: string | null | undefined,
): Pick<Entity, "data_url" | "raw"> {
  if (content === undefined || content.length > ENTITY_CONTENT_BYTES_MAX) return { data_url: null, raw: null };
  const text = content.length <= ENTITY_TEXT_BYTES_MAX ? textOf(content) : undefined;
  const mediaType = type ?? (text === undefined ? BINARY_TYPE : TEXT_TYPE);
  return {
    data_url: `data:${mediaType.replaceAll(" ", "")};base64,${Buffer.from(content).toString("base64")}`,
    raw: text ?? null,
  };
}

function childrenOf({ children: given }: EntityInput): EntityContent["children"] {
  const children = (given ?? []).map((child, index) => {
    const path = `children.${String(index)}`;
    const content = decoded(child, `${path}.data_url`);
    if (content === undefined) throw refused(path, `${path}: give data_url or raw`);
    return { filename: child.filename, bytes: content.bytes };
  });
  if (new Set(children.map(({ filename }) => filename)).size !== children.length)
    throw refused("children", "children: two have the same filename");
  return children;
}

function decoded({ data_url: dataUrl, raw }: Pick<EntityInput, "data_url" | "raw">, path: string): Decoded | undefined {
  if (raw !== undefined && raw !== null) return { bytes: Buffer.from(raw, "utf8"), mediaType: TEXT_TYPE };
  return dataUrl === undefined || dataUrl === null ? undefined : decodedDataUrl(dataUrl, path);
}

/** Decodes a data URL whose content is in base64 or percent-encoded. */
function decodedDataUrl(text: string, path: string): Decoded {
  const comma = text.indexOf(",");
  if (!/^data:/i.test(text.slice(0, 5)) || comma < 0 || comma > HEAD_LENGTH_MAX)
    throw refused(path, `${path}: expected data:<type>;base64,<content>`);
  const head = text.slice("data:".length, comma);
  const isBase64 = /;\s*base64$/i.test(head);
  const [mediaType = ""] = head
    .replace(/;\s*base64$/i, "")
    .split(";")
    .map((part) => part.trim());
  if (mediaType !== "" && !MEDIA_TYPE.test(mediaType)) throw refused(path, `${path}: no media type before the comma`);
  const content = text.slice(comma + 1);
  const bytes = isBase64 ? fromBase64(content, path) : fromPercent(content, path);
  return { bytes, mediaType: mediaType === "" ? TEXT_TYPE : mediaType };
}

function fromBase64(text: string, path: string): Uint8Array {
  const bare = text.replace(/={1,2}$/, "");
  // Node skips characters that are no base64, and would store other content than was sent. A last character alone has
  // less than a byte.
  if (bare.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(bare)) throw refused(path, `${path}: not base64`);
  return Buffer.from(bare, "base64");
}

function fromPercent(text: string, path: string): Uint8Array {
  try {
    return Buffer.from(decodeURIComponent(text), "utf8");
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw refused(path, `${path}: a broken percent encoding`);
  }
}

/** Returns UTF-8 text without control characters, which JSON would write at more than twice its length. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(text) ? undefined : text;
  } catch {
    // The decoder throws for bytes that are no UTF-8.
    return undefined;
  }
}

function refused(path: string, message: string): AppError {
  return invalidMember(path, message, "connector_config_invalid");
}
