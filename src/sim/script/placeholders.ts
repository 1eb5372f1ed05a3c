/** What a backend received, as scripts quote it. Implementations may work each out when it is read. */
export interface Received {
  readonly system: string;
  readonly history: string;
  readonly images: string;
  readonly tools: string;
  readonly model: string;
  readonly user: string;
  readonly reused: "stream" | "checkpoint" | "fresh";
}

/** What a script was answered so far in its turn. */
export interface Answers {
  readonly results: readonly string[];
  /** The last answer of any kind: a tool's, or that to a query. */
  readonly last: string;
}

/** Replaces `{{name}}` and `{{result.N}}`; what is none of them stays as it is. */
export function fillPlaceholders(text: string, received: Received, answers: Answers): string {
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
