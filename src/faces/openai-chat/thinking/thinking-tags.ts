import { randomBytes } from "node:crypto";

/** The tags around one block of thinking in the text. */
export interface ThinkingTags {
  readonly opener: string;
  closer(thoughtId: string): string;
}

/** The form that the IDE knows. Text of the model can close it. */
const plain: ThinkingTags = {
  opener: "<think>\n",
  closer: (id) => `\n</think>\n\`\`\`plaintext:thinkId:${id}\`\`\`\n`,
};

/** Tags with a nonce that the model has not seen, so that its text cannot close the block. */
function withNonce(): ThinkingTags {
  const nonce = randomBytes(4).toString("hex");
  return {
    opener: `<!--thinking-start:${nonce}-->\n`,
    closer: (id) => `\n<!--thinking-end:${nonce}-->\n<!--thinkId:${id}-->\n`,
  };
}

export const nextTags = (style: "tags" | "tags-nonce"): ThinkingTags => (style === "tags" ? plain : withNonce());
