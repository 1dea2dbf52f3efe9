/** Numbers, times and ids as people read them. */

const NUMBER = new Intl.NumberFormat("en-GB");

/** Returns a number with its thousands apart. */
export function count(value: number): string {
  return NUMBER.format(value);
}

/** Returns bytes in the unit that leaves one to three digits. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let rest = value;
  let unit = 0;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 || rest >= 100 ? Math.round(rest).toString() : rest.toFixed(1)} ${units[unit] ?? ""}`;
}

/** Returns milliseconds as a duration. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms).toString()} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000).toString()} min ${Math.round((ms % 60_000) / 1000).toString()} s`;
}

/** Returns how long ago a time is, as a short text. */
export function ago(iso: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1000));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds.toString()} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60).toString()} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600).toString()} h ago`;
  return `${Math.floor(seconds / 86_400).toString()} d ago`;
}

/** Returns the beginning and end of a long text, such as an id or an address. */
export function short(text: string, head = 8, tail = 4): string {
  return text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
}

/** Returns an amount in wei as ether, to a millionth. */
export function ether(wei: string | number): string {
  const digits = String(wei).padStart(19, "0");
  const whole = digits.slice(0, -18);
  const isTiny = /^0*$/.test(whole + digits.slice(-18, -12)) && !/^0*$/.test(digits);
  if (isTiny) return "< 0.000001";
  const part = digits.slice(-18, -12).replace(/0+$/, "");
  return part === "" ? whole : `${whole}.${part}`;
}
