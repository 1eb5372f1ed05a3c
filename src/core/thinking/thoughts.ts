/** One block of thinking, with what the upstream signed it with. */
export interface Thought {
  readonly text: string;
  readonly signature: string | undefined;
}

/** The longest text of a thought that is kept, in characters; a longer one is shown all the same. */
export const MAX_THOUGHT_LENGTH: number = 1024 * 1024;

/**
 * Thinking that was shown to clients which cannot give it back as it was: by the id they were told, or by its text. Each
 * principal has its own. Bounded and for a while: what is not there is just not known any more.
 */
export interface Thoughts {
  keep(principalId: string, id: string, thought: Thought): void;
  find(principalId: string, id: string): Thought | undefined;
  findByText(principalId: string, text: string): Thought | undefined;
}

/** Remembers nothing. */
export const NO_THOUGHTS: Thoughts = { keep: () => {}, find: () => undefined, findByText: () => undefined };

/**
 * How thinking is written where a dialect has no place of its own for it: in fields beside the text, between tags in the
 * text, between tags that nothing in the text can imitate, or not at all.
 */
export const THINKING_STYLES = ["fields", "tags", "tags-nonce", "none"] as const;
export type ThinkingStyle = (typeof THINKING_STYLES)[number];
