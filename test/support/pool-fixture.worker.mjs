// A pool worker for the thread pool's tests: every way in which a task can end.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { threadId } from "node:worker_threads";

export default async function run({ act, gate }) {
  switch (act) {
    case "echo":
      return { threadId };
    case "throw":
      throw new TypeError("a bug");
    case "exit":
      process.exit(3);
    // falls through: exit does not return
    case "loop":
      for (;;);
    case "wait":
      await Atomics.waitAsync(gate, 0, 0).value;
      return { threadId };
    case "environment":
      return Object.keys(process.env);
    case "requires-modules": {
      try {
        createRequire(import.meta.url)(fileURLToPath(import.meta.url));
        return true;
      } catch (error) {
        return error.code !== "ERR_REQUIRE_ESM";
      }
    }
    default:
      return undefined;
  }
}
