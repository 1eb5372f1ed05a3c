const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * True if JSON text is nested deeper than `limit`. Called before the parser, which would take seconds for millions of levels.
 * It takes linear time and does not check whether the text is valid.
 */
export function isDeeperThan(json: Buffer, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfString(json, at + 1);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}

/** Returns the position of the quote that ends a string; the length of the text if there is none. */
function endOfString(json: Buffer, start: number): number {
  for (let quote = json.indexOf(QUOTE, start); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let before = quote;
    while (before > start && json[before - 1] === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote;
  }
  return json.length;
}
