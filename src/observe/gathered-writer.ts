export interface GatheredWriter {
  write(text: string): void;
  flush(): void;
}

/** All that is written in one turn of the event loop goes out as one write at its end. */
export function gatherWrites(write: (text: string) => void): GatheredWriter {
  let waiting = "";
  let isScheduled = false;
  const flush = () => {
    isScheduled = false;
    if (waiting === "") return;
    const text = waiting;
    waiting = "";
    write(text);
  };
  return {
    write(text) {
      waiting += text;
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flush);
    },
    flush,
  };
}
