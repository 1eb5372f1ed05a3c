/** What a script may quote of what the backend received. Each is read only where it is used. */
export interface Placeholders {
  readonly results: readonly string[];
  /** The last answer of any kind: a tool's, or that to a query. */
  readonly lastAnswer: string;
  readonly system: string;
  readonly history: string;
  readonly images: string;
  readonly tools: string;
  readonly model: string;
  readonly user: string;
  readonly reused: "stream" | "checkpoint" | "fresh";
}

/** Replaces `{{name}}` and `{{result.N}}`; what is none of them stays as it is. */
export function fillPlaceholders(text: string, values: Placeholders): string {
  return text.replace(/\{\{([a-z]+)(?:\.(\d+))?\}\}/g, (whole, name: string, index: string | undefined) => {
    switch (name) {
      case "result":
        return index === undefined ? values.lastAnswer : (values.results[Number(index)] ?? "");
      case "system":
      case "history":
      case "images":
      case "tools":
      case "model":
      case "user":
      case "reused":
        return values[name];
      default:
        return whole;
    }
  });
}
