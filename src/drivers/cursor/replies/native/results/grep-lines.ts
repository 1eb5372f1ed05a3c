import { ASIDE } from "./file-list.ts";

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

const HEADING = [/^File: (.+)$/, /^(\S.*):$/, /^## (?:Matches in )?(.+)$/];
const UNDER_HEADING = /^\s*(?:Line |L)?(\d+)([:|-])\s?(.*)$/;
const WITH_FILE = /^(.+?):(\d+):(.*)$/;
const BESIDE = /^(.+?)-(\d+)-(.*)$/;
const WITHOUT_FILE = /^(\d+)([:-])(.*)$/;

/** Parses `path:12:text`, and groups under a path: `path:` or `File: path`, then `  Line 12: text` or `L12: text`. */
export function grepLines(text: string, searched: string): Found {
  const lines: FoundLine[] = [];
  const rest: string[] = [];
  let file: string | undefined;
  const add = (name: string, number: string | undefined, content = "", isContextLine = false) =>
    lines.push({ file: name, lineNumber: Math.min(Number(number), 2 ** 31 - 1), content, isContextLine });
  const said = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !ASIDE.test(line.trim()));
  // A search of one file gives lines without its name. But a file name may begin with a number.
  const isOneFile = searched !== "" && every(said, WITHOUT_FILE) && !every(said, WITH_FILE);
  const hasFiles = said.some((line) => WITH_FILE.test(line));
  for (const line of said) {
    const [, number, mark, content] = (isOneFile ? WITHOUT_FILE : UNDER_HEADING).exec(line) ?? [];
    const whole = WITH_FILE.exec(line);
    const heading = HEADING.map((form) => form.exec(line)?.[1]).find((name) => name !== undefined);
    const beside = hasFiles ? BESIDE.exec(line) : null;
    if (isOneFile) add(searched, number, content, mark === "-");
    else if (file !== undefined && number !== undefined) add(file, number, content, mark === "-");
    else if (whole?.[1]) add(whole[1], whole[2], whole[3]);
    else if (heading !== undefined) file = heading;
    else if (beside?.[1]) add(beside[1], beside[2], beside[3], true);
    else rest.push(line);
  }
  return { lines, rest };
}

const every = (lines: readonly string[], form: RegExp): boolean =>
  lines.length > 0 && lines.every((line) => form.test(line));
