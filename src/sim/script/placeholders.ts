/** What the backend received, for scripts to quote. Implementations may compute members lazily. */
export interface Received {
  readonly system: string;
  readonly history: string;
  readonly images: string;
  readonly tools: string;
  readonly model: string;
  readonly user: string;
  readonly reused: "stream" | "checkpoint" | "fresh";
}

/** The results of the script so far in its turn. */
export interface ScriptResults {
  readonly results: readonly string[];
  /** The last result of a tool, or the last answer to a query. */
  readonly last: string;
}

/** Replaces `{{name}}` and `{{result.N}}`. Leaves unknown names unchanged. */
export function fillPlaceholders(text: string, received: Received, answers: ScriptResults): string {
  return text.replace(/\{\{([a-z]+)(?:\.(\d+))?\}\}/g, (whole, name: string, index: string | undefined) => {
    switch (name) {
      case "result":
        return index === undefined ? answers.last : (answers.results[Number(index)] ?? "");
      case "system":
      case "history":
      case "images":
      case "tools":
      case "model":
      case "user":
      case "reused":
        return received[name];
      default:
        return whole;
    }
  });
}
