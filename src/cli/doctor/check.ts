import { ExcursorError } from "../../core/errors.ts";

export interface Finding {
  /** `skip`: there was nothing to check, or no use in checking. */
  readonly status: "ok" | "warn" | "fail" | "skip";
  /** One sentence. */
  readonly text: string;
  readonly fix?: string | undefined;
}

export interface Check {
  /** Stable, for scripts. */
  readonly id: string;
  /** Runs the check. An error that it throws counts as `fail`. */
  look(): Promise<Finding> | Finding;
}

export const ok = (text: string): Finding => ({ status: "ok", text });
export const skip = (text: string): Finding => ({ status: "skip", text });
export const warn = (text: string, fix: string): Finding => ({ status: "warn", text, fix });

export async function look(check: Check): Promise<Finding> {
  try {
    return await check.look();
  } catch (thrown) {
    return failed(thrown);
  }
}

export function failed(thrown: unknown): Finding {
  const { message, hint } = ExcursorError.from(thrown);
  return { status: "fail", text: message.replaceAll("\n", " "), fix: hint };
}
