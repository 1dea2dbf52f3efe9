import type { Reporter, TestModule } from "vitest/node";

/**
 * Names the files that did not run to their end, then closes the run with one plain line that any reader of logs can
 * count: 'N passed, N failed'.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const results = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string): number => results.filter((result) => result === state).length;
    const unfinished = modules.filter((module) => !["passed", "failed", "skipped"].includes(module.state()));
    for (const module of unfinished) process.stdout.write(`not finished: ${module.relativeModuleId}\n`);
    process.stdout.write(`${String(count("passed"))} passed, ${String(count("failed"))} failed\n`);
  }
}
