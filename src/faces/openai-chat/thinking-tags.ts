import { randomBytes } from "node:crypto";

/** What stands before and after one block of thinking in the text. */
export interface ThinkingTags {
  readonly opener: string;
  closer(thoughtId: string): string;
}

/** The form that the IDE knows since ever; what the model says may end it. */
const plain: ThinkingTags = {
  opener: "<think>\n",
  closer: (id) => `\n</think>\n\`\`\`plaintext:thinkId:${id}\`\`\`\n`,
};

/** With a number in both that the model has not seen: nothing it says can end the block. */
function withNonce(): ThinkingTags {
  const nonce = randomBytes(4).toString("hex");
  return {
    opener: `<!--thinking-start:${nonce}-->\n`,
    closer: (id) => `\n<!--thinking-end:${nonce}-->\n<!--thinkId:${id}-->\n`,
  };
}

/** The tags of the next block. */
export const nextTags = (style: "tags" | "tags-nonce"): ThinkingTags => (style === "tags" ? plain : withNonce());
