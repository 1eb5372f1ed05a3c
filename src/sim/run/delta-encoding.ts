/** The members of an interaction update that carry nothing but text. */
const MEMBER = { text: 1, thinking: 4 } as const;

/**
 * `AgentServerMessage{interaction_update{text_delta|thinking_delta{text}}}` as bytes, without the generated codec:
 * this is the one message that is sent by the hundred thousand.
 */
export function encodeDelta(kind: keyof typeof MEMBER, text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const inner = 1 + varintBytes(length) + length;
  const middle = 1 + varintBytes(inner) + inner;
  const bytes = Buffer.allocUnsafe(1 + varintBytes(middle) + middle);
  let at = writeField(bytes, 0, 1, middle);
  at = writeField(bytes, at, MEMBER[kind], inner);
  at = writeField(bytes, at, 1, length);
  bytes.write(text, at);
  return bytes;
}

function writeField(bytes: Buffer, start: number, number: number, length: number): number {
  let at = start;
  bytes[at++] = (number << 3) | 2;
  let rest = length;
  while (rest > 127) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

const varintBytes = (n: number): number => (n < 1 << 7 ? 1 : n < 1 << 14 ? 2 : n < 1 << 21 ? 3 : n < 1 << 28 ? 4 : 5);
