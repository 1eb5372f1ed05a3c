import inspector from "node:inspector";

/** Preloaded into what is measured: SIGUSR1 opens the inspector, through which the bench asks for a garbage collection. */
process.on("SIGUSR1", () => {
  if (inspector.url() === undefined) inspector.open(0);
});
