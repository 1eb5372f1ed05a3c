type TomlEntries = Readonly<Record<string, string | number | boolean>>;

export type TomlTable = readonly [name: string, entries: TomlEntries];

/**
 * Sets keys at the top of a TOML file, and replaces or adds one table at its end. Keeps all other lines. It works on
 * lines and does not parse TOML: a value that it replaces must be on one line.
 */
export function editToml(text: string, top: TomlEntries, table: TomlTable): string {
  const { head, tables } = cut(text.split("\n"));
  const [name, entries] = table;
  const others = tables.filter(([header = ""]) => !isTable(header, name)).flat();
  const lines = [...setKeys(head, top), ...trimEnd(others)];
  return `${trimEnd(lines).join("\n")}\n\n[${name}]\n${pairs(entries).join("\n")}\n`;
}

interface Cut {
  /** Everything before the first table. */
  readonly head: readonly string[];
  readonly tables: readonly (readonly string[])[];
}

function cut(lines: readonly string[]): Cut {
  const head: string[] = [];
  const tables: string[][] = [];
  let isInText = false;
  for (const line of lines) {
    if (!isInText && /^\s*\[/.test(line) && !isContinued(head, tables)) tables.push([]);
    (tables.at(-1) ?? head).push(line);
    // A multi-line string begins and ends with three quotes.
    const marks = line.match(/"""|'''/g)?.length ?? 0;
    if (marks % 2 === 1) isInText = !isInText;
  }
  return { head, tables };
}

/** True inside an unfinished list, where a line that begins with a bracket is no header. */
function isContinued(head: readonly string[], tables: readonly (readonly string[])[]): boolean {
  const before = (tables.at(-1)?.slice(1) ?? head).join("\n").replace(/"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#.*$/gm, "");
  return (before.match(/\[/g)?.length ?? 0) > (before.match(/\]/g)?.length ?? 0);
}

const isTable = (header: string, name: string): boolean => {
  const found = /^\s*\[\s*([^\]]+?)\s*\]/.exec(header)?.[1]?.replaceAll('"', "");
  return found === name || found?.startsWith(`${name}.`) === true;
};

function setKeys(head: readonly string[], entries: TomlEntries): readonly string[] {
  const names = Object.keys(entries);
  const others = head.filter((line) => !names.includes(/^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? ""));
  const kept = trimEnd(others);
  return [...pairs(entries), ...(kept.length > 0 ? kept : []), ""];
}

const pairs = (entries: TomlEntries): readonly string[] =>
  // A JSON string is a valid TOML string.
  Object.entries(entries).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);

function trimEnd(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return lines.slice(0, last + 1);
}
