import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { completionTable } from "../../src/cli/completion/completion-table.ts";
import { createProgram } from "../../src/cli/program.ts";

const ROWS = new Map(completionTable(createProgram()).map(({ path, words }) => [path, words]));

/** Commands in the text: lines of consoles, and code within sentences. */
const commandsIn = (text: string): readonly string[] => [
  ...[...text.matchAll(/^\$ (.*)$/gm)].map(([, line = ""]) => line),
  ...[...text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code),
];

/** What the program says, quoted in the pages. */
const MESSAGES = new Set(["excursor needs Node 22.13 or newer"]);

/** Returns what is wrong with a call of Excursor in this command; undefined if nothing is. */
function problemOf(command: string): string | undefined {
  const call = /(?:^|&& |\$\(|\| )(?:npm run -s )?excursor((?: [^|&;#)>]*)?)/.exec(command)?.[1];
  if (call === undefined || MESSAGES.has(command)) return undefined;
  const words = call
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words[0] === "--") words.shift();
  let path = "";
  while (words[0] !== undefined && ROWS.has(`${path} ${words[0]}`.trim())) path = `${path} ${words.shift()}`.trim();
  const known = ROWS.get(path) ?? [];
  const own = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  if (path === "" && own[0] !== undefined && /^[a-z-]+$/.test(own[0]) && !known.includes(own[0]))
    return `no command ${own[0]}`;
  const flag = own
    .map((word) => word.split("=")[0] ?? "")
    .find((word) => word.startsWith("--") && !known.includes(word));
  return flag === undefined ? undefined : `no flag ${flag}`;
}

it.each(["README.md", "AGENTS.md", "SECURITY.md", "CHANGELOG.md", ...globSync("docs/**/*.md")])(
  "the commands in %s exist",
  (page) => {
    const wrong = commandsIn(readFileSync(page, "utf8")).flatMap((command) => {
      const problem = problemOf(command);
      return problem === undefined ? [] : [`${command}: ${problem}`];
    });
    expect(wrong).toEqual([]);
  },
);

it("a command or a flag that does not exist is found", () => {
  expect(problemOf("excursor frobnicate")).toBe("no command frobnicate");
  expect(problemOf('eval "$(excursor env --frob)"')).toBe("no flag --frob");
  expect(problemOf("npm run -s excursor -- key")).toBeUndefined();
});
