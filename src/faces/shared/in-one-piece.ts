/** A text that was put together stays a tree of its parts, which would be walked anew for every token it goes around. */
export const inOnePiece = (text: string): string => Buffer.from(text).toString();
