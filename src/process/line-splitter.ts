/** Splits bytes into lines, and buffers at most one line. */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws {@link LineTooLong}; the splitter must not be used after that. */
  push(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#add(chunk.subarray(start, end));
      start = end + 1;
      const line = (this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts))?.toString("utf8") ?? "";
      this.#parts = [];
      this.#bytes = 0;
      onLine(line);
    }
    if (start < chunk.length) this.#add(chunk.subarray(start));
  }

  #add(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      this.#parts = [];
      throw new LineTooLong();
    }
    this.#parts.push(part);
  }
}

export class LineTooLong extends Error {
  constructor() {
    super("The line is too long.");
  }
}
