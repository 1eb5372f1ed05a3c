import { styleText } from "node:util";
import type { ClientRecipe, OfferedGateway } from "../../client-config/client-recipe.ts";
import { jsonText } from "../../core/printable.ts";
import { startSpinner } from "./spinner.ts";

interface ProofResult {
  readonly proof: string;
  readonly outcome: "proven" | "failed" | "skipped";
  readonly detail: string;
  readonly ms: number;
}

const WORDS = { proven: ["green", "ok"], failed: ["red", "failed"], skipped: ["dim", "skipped"] } as const;

async function attempt(work: () => Promise<string>): Promise<Pick<ProofResult, "outcome" | "detail">> {
  try {
    return { outcome: "proven", detail: await work() };
  } catch (error) {
    return { outcome: "failed", detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Reports each step when it has passed; as JSON, all at the end. */
export function createReport(isJson: boolean) {
  const passed: { readonly step: string; readonly detail: string; readonly ms: number }[] = [];
  const proofs: ProofResult[] = [];
  const show = (colour: "green" | "red" | "dim", word: string, text: string) => {
    if (!isJson) process.stdout.write(`${styleText(colour, word, { stream: process.stdout })}  ${text}\n`);
  };
  return {
    get hasFailedProofs() {
      return proofs.some(({ outcome }) => outcome === "failed");
    },
    async step<T>(step: string, work: () => T | Promise<T>, detail: string): Promise<T> {
      const spinner = startSpinner();
      const startedAt = performance.now();
      try {
        const result = await work();
        passed.push({ step, detail, ms: Math.round(performance.now() - startedAt) });
        spinner.stop();
        show("green", "ok", `${step}: ${detail}`);
        return result;
      } finally {
        spinner.stop();
      }
    },
    /** Runs a proof unless there is an obstacle. Throws only if `signal` was aborted. */
    async prove(
      proof: string,
      obstacle: string | undefined,
      work: () => Promise<string>,
      signal: AbortSignal,
    ): Promise<void> {
      const spinner = startSpinner();
      const startedAt = performance.now();
      const result = await (obstacle === undefined ? attempt(work) : { outcome: "skipped" as const, detail: obstacle });
      spinner.stop();
      signal.throwIfAborted();
      proofs.push({ proof, ...result, ms: Math.round(performance.now() - startedAt) });
      const [colour, word] = WORDS[result.outcome];
      show(colour, word, `${proof}: ${result.detail}`);
    },
    end({ id, title, next }: ClientRecipe, file: string, gateway: OfferedGateway) {
      const notes = next(gateway);
      if (isJson) {
        process.stdout.write(
          `${jsonText({ client: id, file, passed, ...(proofs.length > 0 && { proofs }), next: notes })}\n`,
        );
        return;
      }
      const lines = notes.map((note) => `  ${note}\n`).join("");
      process.stdout.write(
        `\n${title} is connected.\n\n${lines}\n\`excursor disconnect ${id}\` restores the previous configuration.\n`,
      );
    },
  };
}
