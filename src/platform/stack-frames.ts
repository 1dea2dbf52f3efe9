/**
 * Where an error happened, without what it says: the message of a library may quote what it was given, and a body or a
 * key must not reach a log.
 */

const FRAMES_MAX = 12;

/** The error's name and its innermost frames, one a line; undefined for what is no error or carries no frames. */
export function stackFrames(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const stack = error.stack ?? "";
  // The message comes first and may have lines that look like frames.
  const message = stack.indexOf(error.message);
  const frames = (message === -1 ? stack : stack.slice(message + error.message.length))
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? undefined : [error.name, ...frames.slice(0, FRAMES_MAX)].join("\n");
}
