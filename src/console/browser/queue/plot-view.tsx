/** Draws a plot over time as SVG, with its latest value in words. */
import { plotOf, type Sample } from "./plot.js";

const WIDTH = 640;
const HEIGHT = 120;

/** The plot. */
export function PlotView({
  title,
  samples,
  spanMs,
  topMin,
  say,
}: {
  readonly title: string;
  readonly samples: readonly Sample[];
  readonly spanMs: number;
  readonly topMin: number;
  /** A value in words, with its unit. */
  readonly say: (value: number) => string;
}) {
  const toMs = samples.at(-1)?.atMs ?? 0;
  const { line, area, marks, top } = plotOf(samples, {
    width: WIDTH,
    height: HEIGHT,
    fromMs: toMs - spanMs,
    toMs,
    topMin,
  });
  const latest = samples.at(-1)?.value ?? 0;
  return (
    <figure class="plot">
      <figcaption>
        {title} <b>{say(latest)}</b>
      </figcaption>
      <svg
        viewBox={`0 -6 ${String(WIDTH)} ${String(HEIGHT + 12)}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${say(latest)} now, ${say(top)} at the top`}
      >
        {marks.map(({ y, value }) => (
          <line key={value} x1={0} x2={WIDTH} y1={y} y2={y} class="mark" />
        ))}
        <path d={area} class="area" />
        <path d={line} class="line" />
      </svg>
      <p class="axis">
        <span>{Math.round(spanMs / 60_000)} min ago</span>
        <span>top {say(top)}</span>
        <span>now</span>
      </p>
    </figure>
  );
}
