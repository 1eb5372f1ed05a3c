import { styleText } from "node:util";
import type { ClientRecipe, OfferedGateway } from "../../client-config/client-recipe.ts";
import { startSpinner } from "./spinner.ts";

/** Reports each step when it has passed; as JSON, all at the end. */
export function createReport(isJson: boolean) {
  const passed: { readonly step: string; readonly detail: string; readonly ms: number }[] = [];
  return {
    async step<T>(step: string, work: () => T | Promise<T>, detail: string): Promise<T> {
      const spinner = startSpinner();
      const startedAt = performance.now();
      try {
        const result = await work();
        passed.push({ step, detail, ms: Math.round(performance.now() - startedAt) });
        spinner.stop();
        if (!isJson)
          process.stdout.write(`${styleText("green", "ok", { stream: process.stdout })}  ${step}: ${detail}\n`);
        return result;
      } finally {
        spinner.stop();
      }
    },
    end({ id, title, next }: ClientRecipe, file: string, gateway: OfferedGateway) {
      const notes = next(gateway);
      if (isJson) {
        process.stdout.write(`${JSON.stringify({ client: id, file, passed, next: notes })}\n`);
        return;
      }
      const lines = notes.map((note) => `  ${note}\n`).join("");
      process.stdout.write(
        `\n${title} is connected.\n\n${lines}\n\`excursor disconnect ${id}\` restores the previous configuration.\n`,
      );
    },
  };
}
