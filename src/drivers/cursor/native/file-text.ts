/** A file as a client shows it to a model. */
export interface FileText {
  readonly content: string;
  /** Of the whole file, where the client says so. */
  readonly totalLines: number | undefined;
  readonly isTruncated: boolean;
}

const WRAPPERS = [
  /^<file>\n([\s\S]*?)\n?<\/file>\s*$/, // OpenCode
  /^<path>[^\n]*<\/path>\n<type>file<\/type>\n<content>\n([\s\S]*?)\n?<\/content>\s*$/, // OpenCode, newer
];
/** Claude Code adds these for its model. */
const REMINDER = /\n*<system-reminder>[\s\S]*?<\/system-reminder>\s*$/;
/** OpenCode's last line: how far the file goes on. */
const FOOTER = /\n*\((?:End of file|File has more lines|Showing lines|Output (?:truncated|capped))[^\n]*\)\s*$/;
/** `     1→text`, `1<tab>text`, `00001| text`, `1: text`. */
const NUMBERED = [/^ *(\d+)→(.*)$/s, /^ *(\d+)\t(.*)$/s, /^0*(\d+)\| ?(.*)$/s, /^(\d+): ?(.*)$/s];

/** The file itself, without what the client put around it. A file that merely looks so is left alone. */
export function fileText(text: string): FileText {
  const wrapped = WRAPPERS.map((form) => form.exec(text)?.[1]).find((inside) => inside !== undefined);
  const body = (wrapped ?? text).replace(REMINDER, "");
  const footer = FOOTER.exec(body)?.[0];
  const content = withoutNumbers(footer === undefined ? body : body.slice(0, -footer.length));
  if (content === undefined && wrapped === undefined)
    return { content: text, totalLines: undefined, isTruncated: false };
  const total = /(?:total|of) (\d+)/.exec(footer ?? "")?.[1];
  return {
    content: content ?? body,
    totalLines: total === undefined ? undefined : Math.min(Number(total), 2 ** 31 - 1),
    isTruncated: footer !== undefined && !footer.includes("End of file"),
  };
}

/** Only where each line has its number, one after the other. */
function withoutNumbers(text: string): string | undefined {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const form of NUMBERED) {
    const parts = lines.map((line) => form.exec(line));
    const first = Number(parts[0]?.[1]);
    if (parts.length > 0 && parts.every((part, index) => part !== null && Number(part[1]) === first + index)) {
      return parts.map((part) => part?.[2] ?? "").join("\n");
    }
  }
  return undefined;
}
