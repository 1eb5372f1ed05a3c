/** A part of a text in Markdown. */
export type Block =
  | { readonly type: "heading"; readonly level: number; readonly text: string }
  | { readonly type: "paragraph"; readonly text: string }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "quote"; readonly text: string }
  | { readonly type: "list"; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly type: "table"; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly type: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const TABLE_LINE = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*$/;

/** Splits a text into blocks. Reads what models write, in one pass; a fence without an end lasts to the end. */
export function parseBlocks(source: string): readonly Block[] {
  const lines = source.split(/\r?\n/);
  const blocks: Block[] = [];
  let at = 0;
  const take = (isPart: (line: string) => boolean): readonly string[] => {
    const start = at;
    while (at < lines.length && isPart(lines[at] ?? "")) at++;
    return lines.slice(start, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (line.trim() === "") at++;
    else if (fence) {
      at++;
      const end = fence[1] ?? "";
      const text = take((one) => !(one.trim().startsWith(end) && one.trim().replaceAll(end.charAt(0), "") === ""));
      at++;
      blocks.push({ type: "code", language: fence[2] ?? "", text: text.join("\n") });
    } else if (heading) {
      at++;
      blocks.push({ type: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "" });
    } else if (RULE.test(line)) {
      at++;
      blocks.push({ type: "rule" });
    } else if (/^ {0,3}>/.test(line)) {
      const text = take((one) => /^ {0,3}>/.test(one)).map((one) => one.replace(/^ {0,3}> ?/, ""));
      blocks.push({ type: "quote", text: text.join("\n") });
    } else if (ITEM.test(line)) {
      const isOrdered = ITEM.exec(line)?.[1] !== undefined;
      const items: string[] = [];
      for (const one of take((text) => text.trim() !== "" && !FENCE.test(text))) {
        const item = ITEM.exec(one);
        if (item) items.push(item[2] ?? "");
        else items.push(`${items.pop() ?? ""} ${one.trim()}`);
      }
      blocks.push({ type: "list", isOrdered, items });
    } else if (line.includes("|") && TABLE_LINE.test(lines[at + 1] ?? "")) {
      at += 2;
      const rows = take((one) => one.includes("|")).map(cellsOf);
      blocks.push({ type: "table", head: cellsOf(line), rows });
    } else {
      const text = take((one) => one.trim() !== "" && ![FENCE, HEADING, RULE].some((other) => other.test(one)));
      blocks.push({ type: "paragraph", text: text.join("\n") });
    }
  }
  return blocks;
}

const cellsOf = (line: string): readonly string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());
