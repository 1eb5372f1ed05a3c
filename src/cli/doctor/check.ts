import { ExcursorError } from "../../core/errors.ts";

/** What one look has shown. */
export interface Finding {
  /** `skip`: there was nothing to look at, or no use in looking. */
  readonly status: "ok" | "warn" | "fail" | "skip";
  /** One sentence. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
}

/** One thing that has to be right. */
export interface Check {
  /** Stable, for scripts. */
  readonly id: string;
  /** What it throws counts as `fail`, in its own words. */
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
