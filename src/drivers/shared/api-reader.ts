/** What the reader of an answer needs to know. */
export interface ApiReaderOptions {
  /** The upstream's host, for errors. */
  readonly host: string;
  /** Returns the client's name of a tool. */
  readonly toolName: (wireName: string) => string;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}
