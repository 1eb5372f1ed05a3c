/** Secrets have no white space, quotes, commas or characters beyond ASCII, except for registered ones. */
const BOUNDARIES = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= 0x20 || byte >= 0x80 || "\"'`<>,;".includes(String.fromCharCode(byte)) ? 1 : 0,
);

export const isBoundary = (byte: number): boolean => BOUNDARIES[byte] === 1;

/** `text` has one character for each byte. */
export const hasBoundary = (text: string): boolean => Buffer.from(text, "latin1").some(isBoundary);
