/**
 * Returns how the user calls this command line. npm sets these variables for its scripts, which are not on the path, and for
 * npx.
 */
export function ownCommand({ npm_lifecycle_event: script, npm_package_name: project }: NodeJS.ProcessEnv): string {
  if (script === undefined) return "excursor";
  return script !== "npx" && project === "excursor" ? "npm run -s excursor --" : "npx excursor";
}
