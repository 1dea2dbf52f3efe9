import type { Reporter, TestModule } from "vitest/node";

/**
 * Names the files whose process died and the tests that needed a second try, then ends the run with one plain line that
 * any reader of logs can count: 'N passed, N failed'.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const results = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string): number => results.filter((result) => result === state).length;
    const cutOff = modules.filter(
      (module) => module.state() !== "passed" && module.state() !== "failed" && module.state() !== "skipped",
    );
    for (const module of cutOff) process.stdout.write(`not finished: ${module.relativeModuleId}\n`);
    const flaky = modules.flatMap((module) =>
      [...module.children.allTests()].filter((test) => test.diagnostic()?.flaky === true),
    );
    for (const test of flaky)
      process.stdout.write(`needed a second try: ${test.module.relativeModuleId} > ${test.fullName}\n`);
    process.stdout.write(`${String(count("passed"))} passed, ${String(count("failed"))} failed\n`);
  }
}
