import { isAside } from "./file-list.ts";

export interface FoundLine {
  readonly file: string;
  readonly lineNumber: number;
  readonly content: string;
  readonly isContextLine: boolean;
}

export interface Found {
  readonly lines: readonly FoundLine[];
  /** Lines of no known format: a list of files, counts, or prose. */
  readonly rest: readonly string[];
}

const HEADING = [/^File: (.+)$/s, /^(\S.*):$/s, /^## (?:Matches in )?(.+)$/s];
const UNDER_HEADING = /^\s*(?:Line |L)?(\d+)([:|-])\s?(.*)$/s;
const WITHOUT_FILE = /^(\d+)([:-])(.*)$/s;
/** Between the name of a file and its line. */
const NUMBER = /:(\d+):/;
const NUMBER_BESIDE = /-(\d+)-/;

/** Parses `path:12:text`, and groups under a path: `path:` or `File: path`, then `  Line 12: text` or `L12: text`. */
export function grepLines(text: string, searched: string): Found {
  const lines: FoundLine[] = [];
  const rest: string[] = [];
  let file: string | undefined;
  const add = (name: string, number: string | undefined, content = "", isContextLine = false) =>
    lines.push({ file: name, lineNumber: Math.min(Number(number), 2 ** 31 - 1), content, isContextLine });
  const said = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !isAside(line.trim()));
  // A search of one file gives lines without its name. But a file name may begin with a number.
  const isOneFile = searched !== "" && every(said, isNumbered) && !every(said, hasFile);
  const hasFiles = said.some(hasFile);
  for (const line of said) {
    const [, number, mark, content] = (isOneFile ? WITHOUT_FILE : UNDER_HEADING).exec(line) ?? [];
    const whole = splitAt(NUMBER, line);
    const heading = HEADING.map((form) => form.exec(line)?.[1]).find((name) => name !== undefined);
    const beside = hasFiles ? splitAt(NUMBER_BESIDE, line) : undefined;
    if (isOneFile) add(searched, number, content, mark === "-");
    else if (file !== undefined && number !== undefined) add(file, number, content, mark === "-");
    else if (whole) add(...whole);
    else if (heading !== undefined) file = heading;
    else if (beside) add(...beside, true);
    else rest.push(line);
  }
  return { lines, rest };
}

const isNumbered = (line: string): boolean => WITHOUT_FILE.test(line);

const hasFile = (line: string): boolean => NUMBER.test(line.slice(1));

/** Returns the name of the file, the number of the line and the line. A name has at least one character. */
function splitAt(number: RegExp, line: string): [file: string, number: string, content: string] | undefined {
  const found = number.exec(line.slice(1));
  if (!found) return undefined;
  const at = found.index + 1;
  return [line.slice(0, at), found[1] ?? "", line.slice(at + found[0].length)];
}

const every = (lines: readonly string[], is: (line: string) => boolean): boolean => lines.length > 0 && lines.every(is);
