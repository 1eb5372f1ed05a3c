/** A file as a client shows it to a model. */
export interface FileText {
  readonly content: string;
  /** Of the whole file, if the client says so. */
  readonly totalLines: number | undefined;
  readonly isTruncated: boolean;
}

/** OpenCode's wrappers, old and new. */
const WRAPPERS = [
  { start: /^<file>\n/, end: "</file>" },
  { start: /^<path>[^\n]*<\/path>\n<type>file<\/type>\n<content>\n?/, end: "</content>" },
];
/** OpenCode's last line, which tells whether the file goes on. */
const FOOTER = /^\((?:End of file|File has more lines|Showing lines|Output (?:truncated|capped)).*\)$/;
/** `     1→text`, `1<tab>text`, `00001| text`, `1: text`. */
const NUMBERED = [/^ *(\d+)→(.*)$/s, /^ *(\d+)\t(.*)$/s, /^(\d+)\| ?(.*)$/s, /^(\d+): ?(.*)$/s];

/** Returns the file without the client's wrapping. Text without a known format is unchanged. */
export function fileText(text: string): FileText {
  const bare = withoutReminder(text);
  const inside = unwrapped(bare);
  const body = (inside ?? bare).trimEnd();
  const last = body.slice(body.lastIndexOf("\n") + 1);
  const footer = FOOTER.test(last) ? last : undefined;
  const shown = footer === undefined ? (inside ?? bare) : body.slice(0, -footer.length).replace(/\n{1,2}$/, "");
  const content = withoutNumbers(shown) ?? (inside === undefined ? undefined : shown);
  if (content === undefined) return { content: text, totalLines: undefined, isTruncated: false };
  const total = /(?:total|of) (\d+)/.exec(footer ?? "")?.[1];
  return {
    content,
    totalLines: total === undefined ? undefined : Math.min(Number(total), 2 ** 31 - 1),
    isTruncated: footer !== undefined && !footer.includes("End of file"),
  };
}

/** Removes the reminders that Claude Code and OpenCode append for their model. */
function withoutReminder(text: string): string {
  const body = text.trimEnd();
  const start = body.endsWith("</system-reminder>") ? body.lastIndexOf("<system-reminder>") : -1;
  return start < 0 ? text : body.slice(0, start).replace(/\n{1,2}$/, "");
}

function unwrapped(text: string): string | undefined {
  const body = text.trimEnd();
  for (const { start, end } of WRAPPERS) {
    const opening = start.exec(body)?.[0];
    if (opening !== undefined && body.endsWith(end)) return body.slice(opening.length, -end.length).replace(/\n$/, "");
  }
  return undefined;
}

/** Removes line numbers, if every line has one and they are consecutive. */
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
