/**
 * Memory of a process whose needs nobody can tell from what it is given, such as a compiler. It begins with what is
 * enough for small work, and begins anew with all that it may take when that was not enough: a small circuit need not
 * wait until gigabytes are free, and what little a large one has done by then is done twice.
 */
import type { MemoryBudget, MemoryRequest } from "./memory-budget.js";

/** The largest built-in circuit, of 63,000 constraints, compiles in 0.6 GB; small ones in far less. */
const FIRST_MB = 768;
const MIB = 1024 ** 2;

/**
 * Runs a process with memory of the budget, as much as it may take or the server has at most.
 * @param request.memoryMb what it may take, in MiB
 * @param run starts it with this limit, in MiB
 * @param isShort whether the limit was what ended it
 * @throws what `MemoryBudget.run` and `run` throw
 */
export async function runWithUnknownMemory<Result>(
  memory: Pick<MemoryBudget, "bytes" | "run">,
  { memoryMb, ...request }: Omit<MemoryRequest, "bytes"> & { readonly memoryMb: number },
  run: (memoryMb: number) => Promise<Result>,
  isShort: (result: Result) => boolean,
): Promise<Result> {
  const mostMb = Math.min(memoryMb, Math.floor(memory.bytes / MIB));
  const runWith = async (mb: number): Promise<Result> =>
    await memory.run({ ...request, bytes: mb * MIB }, async () => await run(mb));
  if (mostMb <= FIRST_MB) return await runWith(mostMb);
  const first = await runWith(FIRST_MB);
  return isShort(first) ? await runWith(mostMb) : first;
}
