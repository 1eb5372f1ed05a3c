/** A file of an archive: its text, or its bytes, of which the number is known before. */
export type ArchiveEntry =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly content: () => AsyncIterable<Uint8Array>; readonly bytes: number };

const BLOCK = 512;

/** Returns the bytes of a tar archive (ustar). Names are ASCII, at most 100 characters. */
export async function* tarArchive(entries: readonly ArchiveEntry[], timeS: number): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    const content = "text" in entry ? Buffer.from(entry.text) : undefined;
    const size = "text" in entry ? Buffer.byteLength(entry.text) : entry.bytes;
    yield headerOf(entry.name, size, timeS);
    if (content) yield content;
    else if ("content" in entry) yield* entry.content();
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function headerOf(name: string, size: number, timeS: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  header.write(name, 0, 100, "latin1");
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(timeS, 136, 12);
  header.write(" ".repeat(8), 148, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}
