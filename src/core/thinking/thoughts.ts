/** One block of thinking, with the upstream's signature. */
export interface Thought {
  readonly text: string;
  readonly signature: string | undefined;
}

/** Thinking with a longer text, in characters, is shown but not stored. */
export const MAX_THOUGHT_LENGTH: number = 1024 * 1024;

/**
 * Stores thinking that was shown to clients which cannot send it back unchanged. It is found by the id that the client got,
 * or by its text. Each principal has its own. Size and age are limited, so thinking may be gone.
 */
export interface Thoughts {
  keep(principalId: string, id: string, thought: Thought): void;
  find(principalId: string, id: string): Thought | undefined;
  findByText(principalId: string, text: string): Thought | undefined;
  /** Reads thinking ahead, so that it is found from then on. Absent: what is stored is found at once. */
  fetch?(principalId: string, wanted: readonly WantedThought[]): Promise<void>;
}

export type WantedThought = { readonly id: string } | { readonly text: string };

/** A store that keeps nothing. */
export const NO_THOUGHTS: Thoughts = { keep: () => {}, find: () => undefined, findByText: () => undefined };

/**
 * How thinking is shown in an API without a place for it: in fields beside the text, between tags in the text, between tags
 * with a nonce that the text cannot imitate, or not at all.
 */
export const THINKING_STYLES = ["fields", "tags", "tags-nonce", "none"] as const;
export type ThinkingStyle = (typeof THINKING_STYLES)[number];
