/**
 * Where an error happened, without its message: the message of a library may quote its input, and a body or a key must
 * not reach a log.
 */

const FRAMES_MAX = 12;

/**
 * Returns an error's name and its 12 innermost frames, one per line, or undefined for a value that is not an error or
 * has no frames.
 */
export function stackFrames(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const stack = error.stack ?? "";
  // The message comes first, and may contain lines that look like frames.
  const message = stack.indexOf(error.message);
  const frames = (message === -1 ? stack : stack.slice(message + error.message.length))
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? undefined : [error.name, ...frames.slice(0, FRAMES_MAX)].join("\n");
}
