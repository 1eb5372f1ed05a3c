/** Limits foreign text to one line of at most 300 characters. */
export const clip = (text: string): string => text.replace(/\s+/g, " ").slice(0, 300);
