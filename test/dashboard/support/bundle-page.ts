import { loadUiFiles } from "../../../src/dashboard/ui-files.ts";

/** Bundles the page before the tests, or each of the first gateways would. */
export async function setup(): Promise<void> {
  await loadUiFiles(() => {});
}
