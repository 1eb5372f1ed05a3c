import { type AnyNode, type Class, type Options, Parser } from "acorn";

/** A class of a bundle, parsed alone. Offsets in the tree count from `start`, in characters of `text`. */
export interface ParsedClass {
  /** Where the class begins in the bundle, in bytes. */
  readonly start: number;
  /** The bundle from there on, somewhat beyond the end of the class. */
  readonly text: string;
  readonly tree: Class;
}

/** The class is at most so long, and begins at most so far before what it encloses. */
const MAX_CLASS_BYTES = 512 * 1024;
/** Words `class` that are tried, most of which are something else. */
const MAX_TRIES = 400;

const KEYWORD = Buffer.from("class");
const OPTIONS: Options = {
  ecmaVersion: "latest",
  sourceType: "module",
  // A class alone does not know what encloses it.
  checkPrivateFields: false,
  allowAwaitOutsideFunction: true,
  allowSuperOutsideMethod: true,
};

/** The innermost class around a place of the bundle: nothing but that class is parsed. */
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

/** A word of its own, not a property, not a part of a name. */
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
    // Most words `class` begin none.
    return undefined;
  }
}

/** What acorn's plugins build on; its declarations leave it out. */
interface ParserInternals {
  nextToken(): void;
  parseExprAtom(): AnyNode;
}

/** `parseExpressionAt` would go on after the class, through all that a minifier has joined with commas. */
class ClassParser extends Parser {
  static parseOnlyClass(input: string): AnyNode {
    const internals = new ClassParser(OPTIONS, input) as unknown as ParserInternals;
    internals.nextToken();
    return internals.parseExprAtom();
  }
}
