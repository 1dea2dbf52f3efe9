/** What a command of the client prints: JSON for machines, lines for people, both on standard output. */
import type { ClientFlags } from "./signed-in.js";

/** Prints the value as one line of JSON with --json, the lines otherwise. */
export function printResult({ json = false }: ClientFlags, value: unknown, lines: () => readonly string[]): void {
  const text = json ? JSON.stringify(value) : lines().map(withoutControls).join("\n");
  process.stdout.write(`${text}\n`);
}

/** Names come from others: what would move a terminal's cursor or change its colours is left out. */
export function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
