/** Loaded before a program: it has a bug that nobody catches, with its secrets in its words, when it is told to. */
process.on("SIGUSR2", () => {
  throw new Error(
    `boom ${process.env["EXCURSOR_TOKEN"]} ${process.env["EXCURSOR_KEY"]} ${process.env["CURSOR_API_KEY"]}`,
  );
});
