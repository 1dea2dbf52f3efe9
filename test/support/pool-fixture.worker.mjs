// A pool worker for the thread pool's tests: every way in which a task can end.
import { threadId } from "node:worker_threads";

export default async function run({ act, ms }) {
  switch (act) {
    case "echo": return { threadId };
    case "throw": throw new TypeError("a bug");
    case "exit": process.exit(3);
    // falls through: exit does not return
    case "loop": for (;;);
    case "wait": await new Promise((resolve) => { setTimeout(resolve, ms); }); return { threadId };
    case "environment": return Object.keys(process.env);
    default: return undefined;
  }
}
