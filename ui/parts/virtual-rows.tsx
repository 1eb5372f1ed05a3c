import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface VirtualRowsProps<T> {
  readonly label: string;
  readonly head: ComponentChildren;
  readonly rows: readonly T[];
  readonly rowHeight: number;
  /** Called when the end of the rows is near. */
  readonly onEnd: () => void;
  /** Draws a row at so many pixels from the top. */
  row(row: T, top: number): ComponentChildren;
}

/** Rows beyond the visible ones, so that scrolling shows no gap. */
const MARGIN = 12;

/** A list of which only the visible rows are drawn. */
export function VirtualRows<T>({ label, head, rows, rowHeight, onEnd, row }: VirtualRowsProps<T>) {
  const place = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const update = () => {
    const element = place.current;
    if (element) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(() => {
    // The list grows with its rows, up to a limit.
    const resize = new ResizeObserver(update);
    if (place.current) resize.observe(place.current);
    return () => resize.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + MARGIN);
  useEffect(() => {
    if (last >= rows.length - MARGIN) onEnd();
  }, [last, rows.length, onEnd]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <section class="list" ref={place} onScroll={update} aria-label={label} tabIndex={0}>
      {head}
      <div class="list-inner" style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(first, last).map((one, index) => row(one, (first + index) * rowHeight))}
      </div>
    </section>
  );
}
