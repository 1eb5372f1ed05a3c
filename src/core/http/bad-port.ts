/** Whether fetch failed because it refuses the port: it does so for a list of ports, as browsers do, and says it only in a cause. */
export function isBadPort(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) if (error.message === "bad port") return true;
  return false;
}
