/**
 * Checks an export of the audit log as far as one can without the key of its links: that no record is missing, none is
 * there twice, each has its link, and time goes forward. Whether the links are the server's own, `proofwright audit
 * verify` tells, which has the key.
 */

export interface AuditVerdict {
  readonly records: number;
  /** Number and link of the last record, to compare with what was noted earlier. */
  readonly head: string | undefined;
  /** What is wrong, in a sentence; undefined for nothing. */
  readonly fault: string | undefined;
}

interface Line {
  readonly number: number;
  readonly mac: string;
  readonly event: { readonly at: string };
}

const MAC = /^[0-9a-f]{64}$/;

/**
 * Reads lines of JSON, oldest first.
 * @param before what the lines before gave; the first lines begin at number 1
 */
export function checkAuditLines(
  text: string,
  before: AuditVerdict = { records: 0, head: undefined, fault: undefined },
): AuditVerdict {
  let { records, head } = before;
  let latest = "";
  for (const line of text.split("\n")) {
    if (line === "" || before.fault !== undefined) continue;
    const fault = faultOf(line, records, latest);
    if (fault !== undefined) return { records, head, fault };
    const { number, mac, event } = JSON.parse(line) as Line;
    records = number;
    head = `${String(number)}:${mac}`;
    latest = event.at;
  }
  return { records, head, fault: before.fault };
}

function faultOf(line: string, last: number, latest: string): string | undefined {
  let record: Partial<Line>;
  try {
    record = JSON.parse(line) as Partial<Line>;
  } catch {
    return `The line after record ${String(last)} is not JSON.`;
  }
  const wanted = last + 1;
  if (record.number !== wanted)
    return `Record ${String(wanted)} is missing; ${String(record.number)} comes in its place.`;
  if (!MAC.test(record.mac ?? "")) return `Record ${String(wanted)} has no link.`;
  if ((record.event?.at ?? "") < latest) return `Record ${String(wanted)} is older than the one before it.`;
  return undefined;
}
