/** Lists that are put together in memory: in the order of the store's own lists, and by pages. */
import type { Page, TableRow } from "../platform/store/tables.js";

/** Orders rows as the store's indexes do: oldest first, by id within a millisecond. */
export function byCreation(one: TableRow, other: TableRow): number {
  return one.created_at + one.id < other.created_at + other.id ? -1 : 1;
}

/** A list's filter by name; absent or undefined: every name. */
export interface NameFilter {
  readonly name?: string | undefined;
}

/** Returns true for a record of this name, and for every record when no name is asked for. */
export function isNamed(record: { readonly name: string }, name: string | undefined): boolean {
  return name === undefined || record.name === name;
}

/** Returns one page of rows, oldest first, and how many there are in all. */
export function pageOf<T extends TableRow>(
  rows: readonly T[],
  page: Page,
): { readonly rows: T[]; readonly total: number } {
  const from = (page.page - 1) * page.rpp;
  return { rows: [...rows].sort(byCreation).slice(from, from + page.rpp), total: rows.length };
}
