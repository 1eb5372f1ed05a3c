import { parseSync, Visitor } from "rolldown/utils";

/** What the syntax tree of one source file holds. */
export interface SourceCounts {
  readonly imports: number;
  /** Lines of each function, from its first to its last. */
  readonly functionLines: readonly number[];
  /** `process.env`, also where it is only passed on. */
  readonly environmentReads: number;
  /** Spreads of a value whose name ends in `engine`: the copies of the answering interface. */
  readonly engineSpreads: number;
  /** Uses of `AsyncLocalStorage`, its import left out. */
  readonly asyncLocalStorages: number;
}

export function countSource(file: string, source: string): SourceCounts {
  const { program, errors } = parseSync(file, source);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const found = { imports: 0, environmentReads: 0, engineSpreads: 0, asyncLocalStorages: 0 };
  const functionLines: number[] = [];
  const measure = ({ start, end }: { readonly start: number; readonly end: number }) =>
    functionLines.push(source.slice(start, end).split("\n").length);
  new Visitor({
    ImportDeclaration: ({ specifiers }) => {
      found.imports++;
      // The visitor meets it as an identifier twice: as what is imported, and as its local name.
      found.asyncLocalStorages -= 2 * specifiers.filter(({ local }) => local.name === "AsyncLocalStorage").length;
    },
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
    MemberExpression: ({ object, property }) => {
      if (nameOf(object) === "process" && nameOf(property) === "env") found.environmentReads++;
    },
    SpreadElement: ({ argument }) => {
      const named = argument.type === "MemberExpression" ? argument.property : argument;
      if (/engine$/i.test(nameOf(named) ?? "")) found.engineSpreads++;
    },
    Identifier: ({ name }) => {
      if (name === "AsyncLocalStorage") found.asyncLocalStorages++;
    },
  }).visit(program);
  return { ...found, functionLines };
}

const nameOf = (node: object): string | undefined =>
  "name" in node && typeof node.name === "string" ? node.name : undefined;

/** As `wc -l`. */
export const countLines = (text: string): number => text.split("\n").length - 1;

/** As `wc -w`. */
export const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;
