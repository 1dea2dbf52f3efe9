/** The geometry of a plot over time: lines, areas and the marks of its axis. Draws nothing. */

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface PlotFrame {
  readonly width: number;
  readonly height: number;
  /** The times at the left and right edge. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The least value that the top stands for, so that little noise does not fill the plot. */
  readonly topMin: number;
}

export interface Plot {
  /** `d` of the line; empty for no samples. */
  readonly line: string;
  /** `d` of the area below it. */
  readonly area: string;
  readonly top: number;
  readonly marks: readonly { readonly y: number; readonly value: number }[];
}

/** Returns the plot of samples in the order of their times; those outside of the frame are left out. */
export function plotOf(samples: readonly Sample[], frame: PlotFrame): Plot {
  const { width, height, fromMs, toMs, topMin } = frame;
  const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  const top = niceTop(Math.max(topMin, ...inside.map(({ value }) => value)));
  const x = (atMs: number): string => (((atMs - fromMs) / (toMs - fromMs)) * width).toFixed(1);
  const y = (value: number): string => (height - (value / top) * height).toFixed(1);
  const points = inside.map(({ atMs, value }) => `${x(atMs)} ${y(value)}`);
  const line = points.length === 0 ? "" : `M${points.join("L")}`;
  const [first] = inside;
  const last = inside.at(-1);
  const area =
    first === undefined || last === undefined
      ? ""
      : `${line}L${x(last.atMs)} ${String(height)}L${x(first.atMs)} ${String(height)}Z`;
  const marks = [0, top / 2, top].map((value) => ({ value, y: Number(y(value)) }));
  return { line, area, top, marks };
}

/** Returns the next of 1, 2, 5, 10, 20, ... that is no smaller. */
export function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((step) => step * power >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * power).toPrecision(1));
}

/** Returns the value below which a share of all lies (nearest rank); undefined for none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
