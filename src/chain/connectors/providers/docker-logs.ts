/**
 * Reads the lines of a container's log. Without a terminal, Docker frames both streams: stream(1) || 0(3) ||
 * length(4, big-endian) || bytes (Engine API, 'Stream format'). Each line starts with a timestamp in RFC 3339 and a
 * space.
 */
import type { ContainerLogs } from "../connector-schemas.js";

const FRAME_HEAD_BYTES = 8;
const LINE_LENGTH_MAX = 4096;

/** Returns the lines in order; the timestamp of a line without one is null. */
export function linesOfLog(body: Buffer, { hasTerminal }: { readonly hasTerminal: boolean }): ContainerLogs["logs"] {
  const text = hasTerminal ? body.toString("utf8") : unframed(body);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const space = line.indexOf(" ");
      const time = Date.parse(line.slice(0, space));
      const hasTime = space > 0 && !Number.isNaN(time);
      return {
        timestamp: hasTime ? new Date(time).toISOString() : null,
        message: (hasTime ? line.slice(space + 1) : line)
          .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
          .slice(0, LINE_LENGTH_MAX),
      };
    });
}

function unframed(body: Buffer): string {
  const chunks: Buffer[] = [];
  for (let position = 0; position + FRAME_HEAD_BYTES <= body.length;) {
    const length = body.readUInt32BE(position + 4);
    chunks.push(body.subarray(position + FRAME_HEAD_BYTES, position + FRAME_HEAD_BYTES + length));
    position += FRAME_HEAD_BYTES + length;
  }
  return Buffer.concat(chunks).toString("utf8");
}
