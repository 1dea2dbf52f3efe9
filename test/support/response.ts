/** Reads answers in tests that walk all routes. */

/** The answer's text; empty for a stream, which is left at once. */
export async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return await response.text();
  await response.body?.cancel();
  return "";
}
