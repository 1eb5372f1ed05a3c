import type { Command } from "@commander-js/extra-typings";
import { GUIDES, RECIPES } from "../../client-config/recipes/index.ts";
import { SNIPPETS } from "../../client-config/snippets.ts";

/** What can follow one command on the command line. */
export interface CompletionRow {
  /** The command with its parents, without the program: `service install`; empty for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
  /** The values of flags that have a fixed set. */
  readonly values: Readonly<Record<string, readonly string[]>>;
}

/** Arguments that are not declared as choices, since a recipe may be added. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  connect: [...RECIPES, ...GUIDES, ...SNIPPETS].map(({ id }) => id),
  disconnect: RECIPES.map(({ id }) => id),
};

/** Reads the whole command line out of its definition. */
export function completionTable(program: Command): readonly CompletionRow[] {
  const visit = (command: Command, path: readonly string[]): CompletionRow[] => {
    const help = command.createHelp();
    const options = help.visibleOptions(command);
    const commands = help.visibleCommands(command);
    const row: CompletionRow = {
      path: path.join(" "),
      words: [
        ...commands.map((each) => each.name()),
        ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
        ...(ARGUMENTS[path.join(" ")] ?? []),
        ...options.flatMap(({ long, short }) => long ?? short ?? []),
      ],
      values: Object.fromEntries(
        options.flatMap(({ long, short, argChoices }) =>
          argChoices ? [long, short].flatMap((flag) => (flag ? [[flag, argChoices] as const] : [])) : [],
        ),
      ),
    };
    return [
      row,
      ...commands
        .filter((each) => each.name() !== "help")
        .flatMap((each) => visit(each as Command, [...path, each.name()])),
    ];
  };
  return visit(program, []);
}
