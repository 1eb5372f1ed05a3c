/**
 * Suppresses Node 22's warning that SQLite is experimental. Other warnings are printed as before, unless
 * `--no-warnings` is set.
 */
export function silenceSqliteWarning(): void {
  const printers = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite ")) return;
    for (const print of printers) print.call(process, warning);
  });
}
