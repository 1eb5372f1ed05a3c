import { describe, expect, it } from "vitest";
import { parseShell } from "../../../../../src/faces/cursor/run/tools/parse-shell.ts";

const commands = (text: string) => parseShell(text).executableCommands.map(({ fullText }) => fullText);

describe("parseShell", () => {
  it("finds every command of a line", () => {
    expect(commands("cd a && npm test | tail -n 5; echo 'a && b' || true")).toEqual([
      "cd a",
      "npm test",
      "tail -n 5",
      "echo 'a && b'",
      "true",
    ]);
    expect(commands("A=1 B=2 make all\nls -la &")).toEqual(["make all", "ls -la"]);
    expect(commands('git commit -m "a; b" # a comment; rm x')).toEqual(['git commit -m "a; b"']);
  });

  it("tells the kinds of arguments apart", () => {
    const [command] = parseShell(`echo a 'b c' "d" $HOME`).executableCommands;
    expect(command?.args.map(({ type }) => type)).toEqual(["word", "raw_string", "string", "simple_expansion"]);
  });

  it("reports redirections", () => {
    const { hasRedirects, redirects, allRedirectsAreDevNull } = parseShell("make 2>&1 >/dev/null");
    expect(hasRedirects).toBe(true);
    expect(redirects).toMatchObject([
      { operator: ">&", destinationFds: [2], targetText: "1" },
      { operator: ">", destinationFds: [1], targetText: "/dev/null" },
    ]);
    expect(allRedirectsAreDevNull).toBe(false);
    expect(parseShell("ls > /dev/null").allRedirectsAreDevNull).toBe(true);
  });

  it.each([
    "echo $(rm -rf x)",
    "echo `rm x`",
    'echo "$(rm x)"',
    "(cd a; rm b)",
    "if true; then rm x; fi",
    "cat <<EOF\nx\nEOF",
    "cat <(rm x)",
    "{ rm x; }",
    "$CMD x",
    "echo 'unclosed",
    "&& rm x",
    "",
  ])("does not claim to understand %j", (text) => {
    expect(parseShell(text).parsingFailed).toBe(true);
    expect(parseShell(text).executableCommands).toEqual([]);
  });
});
