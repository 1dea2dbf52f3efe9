/** Leads through lists that are longer than a page. */
import { count } from "./format.js";

export const ROWS = 50;

/** Earlier and later pages; nothing where one page holds all. */
export function Pager({
  page,
  total,
  onPage,
}: {
  readonly page: number;
  readonly total: number | undefined;
  readonly onPage: (page: number) => void;
}) {
  const last = Math.max(1, Math.ceil((total ?? 0) / ROWS));
  if (last === 1) return null;
  return (
    <nav class="pager row" aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Back
      </button>
      <span>
        page {count(page)} of {count(last)}, {count(total ?? 0)} in all
      </span>
      <button type="button" disabled={page >= last} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
