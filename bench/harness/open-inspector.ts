import inspector from "node:inspector";

/**
 * Preloaded into the program under test. SIGUSR1 opens the inspector, through which the bench triggers a garbage
 * collection.
 */
process.on("SIGUSR1", () => {
  if (inspector.url() === undefined) inspector.open(0);
});
