/**
 * Keeps Node 22 from printing that its SQLite is experimental; every other warning is printed as before. With
 * `--no-warnings` there is nobody who prints.
 */
export function silenceSqliteWarning(): void {
  const printers = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite ")) return;
    for (const print of printers) print.call(process, warning);
  });
}
