import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isDark } from "../theme.ts";

interface ChartProps {
  /** Read out instead of the drawing. */
  readonly label: string;
  /** Milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly lines: readonly {
    readonly values: readonly (number | null)[];
    readonly colour: "c1" | "c2" | "c3" | "c4";
  }[];
  readonly kind: "bars" | "line";
  readonly format: (value: number) => string;
  /** The end of the axis if there is nothing to show. */
  readonly least?: number;
}

const HEIGHT = 132;
const DAY_S = 86_400;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** A small chart. It is drawn anew when its figures, its width or the theme change. */
export function Chart({ label, times, lines, kind, format, least = 1 }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const dark = isDark.value;
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(`--${name}`);
    const axis = {
      stroke: colour("muted"),
      font: `11px ${style.fontFamily}`,
      ticks: { show: false },
      grid: { stroke: colour("line"), width: 1 },
    };
    const bars = uPlot.paths.bars?.({ size: [0.72, 40], radius: 0.15 });
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { show: false },
        legend: { show: false },
        padding: [8, 18, 0, 0],
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : least] } },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 30,
            gap: 10,
            space: 64,
            values: (_, values, __, ___, stepS) =>
              values.map((value) => (stepS < DAY_S ? clock : day).format(value * 1000)),
          },
          { ...axis, size: 46, gap: 4, space: 30, values: (_, values) => values.map(format) },
        ],
        series: [
          {},
          ...lines.map((line) => ({
            stroke: colour(line.colour),
            width: kind === "bars" ? 0 : 1.6,
            points: { show: kind === "line", size: 4, fill: colour(line.colour) },
            spanGaps: true,
            ...(kind === "bars" && { fill: colour(line.colour), ...(bars && { paths: bars }) }),
          })),
        ],
      },
      [times.map((time) => time / 1000), ...lines.map(({ values }) => [...values])],
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [times, lines, kind, format, least, dark]);
  return <div class="plot" ref={place} role="img" aria-label={label} />;
}
