/** Sampling through tinybench: a fixed number of runs after a warm-up, medians and 95th percentiles of the samples. */
import { Bench } from "tinybench";

export interface Sampled {
  /** Milliseconds. */
  readonly median: number;
  readonly p95: number;
  readonly samples: number;
}

export interface SampleOptions {
  readonly samples: number;
  readonly warmups: number;
}

/** Times an action, which may be asynchronous. Rethrows what it throws. */
export async function sampleMs(action: () => unknown, options: SampleOptions): Promise<Sampled> {
  const bench = new Bench({
    time: 0,
    iterations: options.samples,
    warmup: options.warmups > 0,
    warmupTime: 0,
    warmupIterations: Math.max(1, options.warmups),
    retainSamples: true,
    throws: true,
  });
  bench.add("action", async () => {
    await action();
  });
  const [task] = await bench.run();
  const result = task?.result;
  if (result === undefined || !("latency" in result) || result.latency.samples === undefined)
    throw new Error("the bench gave no samples");
  return summarize(result.latency.samples);
}

/** Median and 95th percentile of samples in milliseconds. */
export function summarize(samples: readonly number[]): Sampled {
  return { median: quantileOf(samples, 0.5), p95: quantileOf(samples, 0.95), samples: samples.length };
}

/** The nearest rank of a share, such as 0.99; NaN of nothing. */
export function quantileOf(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
