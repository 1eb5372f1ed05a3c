import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** So near to its end, a part follows what is added. */
const NEAR_PX = 160;

/** Keeps a part that scrolls at its end while its content grows, unless the user has scrolled up. */
export function useTail<T extends HTMLElement>(content: unknown): RefObject<T | null> {
  const place = useRef<T>(null);
  const height = useRef(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const isNear = element.scrollTop + element.clientHeight > height.current - NEAR_PX;
    height.current = element.scrollHeight;
    if (isNear) element.scrollTop = element.scrollHeight;
  }, [content]);
  return place;
}
