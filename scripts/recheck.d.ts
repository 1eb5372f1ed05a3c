/** The checker without its programs for each system, which has no types of its own. */
declare module "recheck/lib/browser.js" {
  import type { checkSync } from "recheck";

  const recheck: { readonly checkSync: typeof checkSync };
  // biome-ignore lint/style/noDefaultExport: this is what a CommonJS module has.
  export default recheck;
}
