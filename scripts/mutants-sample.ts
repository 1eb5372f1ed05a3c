/** A small change of a source file, as Stryker names it. Lines and columns count from 0. */
export interface Fault {
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** Names a fault, the same for every list that has it. `file` is relative to the project. */
export function faultKey(file: string, { location: { start, end }, mutatorName, replacement }: Fault): string {
  return JSON.stringify([file, start.line, start.column, end.line, end.column, mutatorName, replacement]);
}

/**
 * Rejects faults that are not in the sample. Stryker can be told files and ranges, but a range also holds the faults
 * nested in it, and one place can have several.
 */
class SampleChecker {
  static readonly inject = ["options"] as const;
  readonly #sample: ReadonlySet<string>;
  readonly #root = `${process.cwd()}/`;

  constructor({ sample }: { readonly sample: readonly string[] }) {
    this.#sample = new Set(sample);
  }

  async init(): Promise<void> {}

  group(faults: readonly { readonly id: string }[]): readonly (readonly string[])[] {
    return [faults.map(({ id }) => id)];
  }

  async check(faults: readonly (Fault & { readonly id: string })[]): Promise<object> {
    const isSampled = (fault: Fault) => this.#sample.has(faultKey(fault.fileName.slice(this.#root.length), fault));
    const rejected = { status: "compileError", reason: "not sampled" };
    return Object.fromEntries(faults.map((fault) => [fault.id, isSampled(fault) ? { status: "passed" } : rejected]));
  }
}

/** What Stryker looks for in a plugin. */
export const strykerPlugins = [{ kind: "Checker", name: "sample", injectableClass: SampleChecker }];
export const strykerValidationSchema = { properties: { sample: { type: "array", items: { type: "string" } } } };

// Stryker's workers load this module, too. They would outlive a killed run.
if (process.env["STRYKER_MUTATOR_WORKER"] !== undefined) process.on("disconnect", () => process.exit(1));
