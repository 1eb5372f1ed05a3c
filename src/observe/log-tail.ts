/** A line of the log as it was written: JSON, free of secrets. */
export interface LogLine {
  /** Counted from 1. */
  readonly number: number;
  readonly json: string;
}

const MAX_LINES = 1000;
/** Longer lines are kept as their level, time and size. */
const MAX_LINE = 4000;

/** Keeps the last lines of the log in memory. */
export class LogTail {
  #lines: LogLine[] = [];
  #last = 0;

  /** The number of the last line. */
  get last(): number {
    return this.#last;
  }

  add(json: string): void {
    this.#last++;
    this.#lines.push({ number: this.#last, json: json.length > MAX_LINE ? shorten(json) : json });
    if (this.#lines.length >= 2 * MAX_LINES) this.#lines = this.#lines.slice(-MAX_LINES);
  }

  /** Returns the last lines after a number, oldest first, as far as they are kept and fit. */
  after(number: number, maxChars: number): readonly LogLine[] {
    const lines = this.#lines.slice(-MAX_LINES).filter((line) => line.number > number);
    let chars = 0;
    const first = lines.findLastIndex(({ json }) => {
      chars += json.length;
      return chars > maxChars;
    });
    return lines.slice(first + 1);
  }
}

function shorten(json: string): string {
  const { level, time, msg } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return JSON.stringify({ level, time, msg: String(msg).slice(0, MAX_LINE / 2), omittedChars: json.length });
}
