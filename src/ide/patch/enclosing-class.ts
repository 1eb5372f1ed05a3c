import { type AnyNode, type Class, type Options, Parser } from "acorn";

/** A class of a bundle, parsed alone. Offsets in the tree count from `start`, in characters of `text`. */
export interface ParsedClass {
  /** Where the class begins in the bundle, in bytes. */
  readonly start: number;
  /** The bundle from `start` to somewhat beyond the end of the class. */
  readonly text: string;
  readonly tree: Class;
}

/** The longest class, and the furthest its beginning may be from the place that it encloses. */
const MAX_CLASS_BYTES = 512 * 1024;
/** How many occurrences of `class` are tried. Most of them begin no class. */
const MAX_TRIES = 400;

const KEYWORD = Buffer.from("class");
const OPTIONS: Options = {
  ecmaVersion: "latest",
  sourceType: "module",
  // A class parsed alone lacks its enclosing scopes.
  checkPrivateFields: false,
  allowAwaitOutsideFunction: true,
  allowSuperOutsideMethod: true,
};

/** Returns the innermost class around a place of the bundle. Parses nothing but candidates for that class. */
export function findEnclosingClass(bundle: Buffer, place: number): ParsedClass | undefined {
  const earliest = Math.max(0, place - MAX_CLASS_BYTES);
  let start = bundle.lastIndexOf(KEYWORD, place);
  for (let tries = 0; tries < MAX_TRIES && start >= earliest; tries++) {
    if (isWholeWord(bundle, start)) {
      const text = bundle.toString("utf8", start, Math.min(bundle.length, start + MAX_CLASS_BYTES));
      const tree = parseClass(text);
      if (tree && start + Buffer.byteLength(text.slice(0, tree.end)) > place) return { start, text, tree };
    }
    if (start === 0) break;
    start = bundle.lastIndexOf(KEYWORD, start - 1);
  }
  return undefined;
}

/** True if a word begins here, and it is not a property. */
export function isWholeWord(bundle: Buffer, at: number): boolean {
  const before = bundle[at - 1];
  return before === undefined || !isNamePart(before);
}

function isNamePart(byte: number): boolean {
  const isLetter = (byte | 32) >= 97 && (byte | 32) <= 122;
  const isDigit = byte >= 48 && byte <= 57;
  // `$`, `_`, `.`, `#`, a backslash, and every byte of a character beyond ASCII.
  return isLetter || isDigit || byte === 36 || byte === 95 || byte === 46 || byte === 35 || byte === 92 || byte >= 128;
}

function parseClass(text: string): Class | undefined {
  try {
    const tree = ClassParser.parseOnlyClass(text);
    return tree.type === "ClassExpression" || tree.type === "ClassDeclaration" ? tree : undefined;
  } catch {
    // Most occurrences of `class` begin no class.
    return undefined;
  }
}

/** Methods of acorn that its plugins use; its declarations omit them. */
interface ParserInternals {
  nextToken(): void;
  parseExprAtom(): AnyNode;
}

/** `parseExpressionAt` would continue after the class, through everything that a minifier has joined with commas. */
class ClassParser extends Parser {
  static parseOnlyClass(input: string): AnyNode {
    const internals = new ClassParser(OPTIONS, input) as unknown as ParserInternals;
    internals.nextToken();
    return internals.parseExprAtom();
  }
}
