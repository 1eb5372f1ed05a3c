interface Line {
  readonly text: string;
  /** The header of the TOML table that it is in; empty before the first. */
  readonly section: string;
  /** Tells equal lines of different tables apart. */
  readonly id: string;
}

const HEADER = /^\s*\[/;
const NAME = /^\s*(?:export\s+)?"?([\w-]+)"?\s*=/;

/** Takes our edit out of a file of lines `NAME = value`, in the tables of TOML or without any. Other lines stay as they are. */
export function undoLines(edited: { readonly before: string; readonly after: string; readonly now: string }): string {
  const [before, after, now] = [linesOf(edited.before), linesOf(edited.after), linesOf(edited.now)];
  const ours = missingFrom(before, after);
  const isLeft = ({ id, text }: Line) => text.trim() === "" || !ours.has(id);
  // A table of ours that has lines of others keeps its header.
  const others = new Set(now.filter((line) => isLeft(line) && line.text.trim() !== "").map(({ section }) => section));
  const kept = now.filter((line) => isLeft(line) || (HEADER.test(line.text) && others.has(line.section)));
  const names = new Set(kept.map(nameOf));
  const lost = missingFrom(after, before);
  const again = before.filter((line) => lost.has(line.id) && !names.has(nameOf(line)));
  for (const [section, lines] of Map.groupBy(again, (line) => line.section)) {
    const header = section === "" ? -1 : kept.findIndex((line) => line.section === section);
    kept.splice(section !== "" && header === -1 ? kept.length : header + 1, 0, ...lines);
  }
  return kept.map(({ text }) => text).join("\n");
}

function linesOf(content: string): readonly Line[] {
  let section = "";
  return content.split("\n").map((text) => {
    if (HEADER.test(text)) section = text.trim();
    return { text, section, id: `${section}\n${text.trim()}` };
  });
}

/** Returns the ids of the lines that are in the second list only. Empty lines do not count. */
function missingFrom(first: readonly Line[], second: readonly Line[]): ReadonlySet<string> {
  const ids = new Set(first.map(({ id }) => id));
  return new Set(second.flatMap(({ id, text }) => (text.trim() === "" || ids.has(id) ? [] : [id])));
}

const nameOf = ({ text, section, id }: Line): string => {
  const name = NAME.exec(text)?.[1];
  return name === undefined ? id : `${section}\n${name} =`;
};
