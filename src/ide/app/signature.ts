import { posix } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import type { CommandResult, IdeHost } from "../host.ts";

export const RESIGN_PRICE =
  "Signing again replaces Cursor's own signature. Cursor then no longer updates itself, and macOS asks again for the " +
  "permissions that it had. To get the old signature back, reinstall Cursor.";

/** Returns `Cursor.app` for its `Contents/Resources/app`. */
export const appBundleOf = (root: string): string => posix.join(root, "..", "..", "..");

export function expectSigning({ machine }: IdeHost): void {
  if (machine.platform === "darwin") return;
  throw new ExcursorError("ide_no_signature");
}

/** Signs the app again. A patch breaks the signature, but few programs check it, so this is done only on request. */
export async function resign({ run }: IdeHost, root: string): Promise<void> {
  const args = ["--force", "--deep", "--sign", "-", "--preserve-metadata=identifier,entitlements", appBundleOf(root)];
  expectDone(await run("codesign", args), "sign");
  expectDone(await verifySignature(run, root), "verify");
}

export const verifySignature = (run: IdeHost["run"], root: string): Promise<CommandResult> =>
  run("codesign", ["--verify", "--deep", "--strict", appBundleOf(root)]);

function expectDone({ code, output }: CommandResult, verb: string): void {
  if (code === 0) return;
  const reason = output.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  throw new ExcursorError("ide_resign_failed", [verb, reason || `exit code ${code}`]);
}
