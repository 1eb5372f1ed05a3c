/** How long something may wait, and how much of it. */
const DELAY_MS = 200;
const MAX_WAITING = 1000;

export interface PutOff<Item> {
  add(item: Item): void;
  /** Does at once what waits. */
  flush(): void;
}

/**
 * For work that nobody waits for: what comes within a short time is done together, after it. Where many answers end at
 * the same moment, the tokens of others are still on their way.
 */
export function putOff<Item>(act: (items: readonly Item[]) => void): PutOff<Item> {
  let waiting: Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const items = waiting;
    waiting = [];
    act(items);
  };
  return {
    add(item) {
      waiting.push(item);
      if (waiting.length >= MAX_WAITING) flush();
      else timer ??= setTimeout(flush, DELAY_MS);
    },
    flush,
  };
}
