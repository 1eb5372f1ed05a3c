#!/usr/bin/env node
// Plain JavaScript, so that it runs on old versions of Node and can say what is wrong.
import { existsSync, readFileSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

// Without a listener, Node opens its inspector at this signal. Use --inspect instead.
process.on("SIGUSR1", () => {});

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
// A checkout runs the sources, even if a build exists. An installed package has only the build.
const source = new URL("../src/main.ts", import.meta.url);
const isCheckout = existsSync(source);
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `excursor needs Node 22.13 or newer; this is ${process.versions.node}.\n` +
      (isCheckout
        ? "`npm run excursor -- ...` brings its own Node once `npm ci` has run."
        : "Install a newer one from https://nodejs.org or with your version manager, then install excursor again."),
  );
  process.exit(78);
}
if (process.argv.length === 3 && ["-V", "--version"].includes(process.argv[2] ?? "")) {
  // Scripts ask for the version often. It needs nothing of the program.
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else {
  // Caches the compiled sources: stripping types from hundreds of files takes half of the start.
  if (isCheckout) module.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/excursor", import.meta.url)));
  const { main } = await import(isCheckout ? source.href : new URL("../dist/js/main.js", import.meta.url).href);
  await main(process.argv);
}
