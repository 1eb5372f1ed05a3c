#!/usr/bin/env node
// Plain JavaScript on purpose: this file must still run where the rest cannot, to say why.
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

// Node opens its inspector at this signal, unless there is a listener. Whoever wants it starts with --inspect.
process.on("SIGUSR1", () => {});

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `excursor needs Node 22.13 or newer; this is ${process.versions.node}.\n` +
      "From a checkout, `npm run excursor -- ...` brings its own Node once `npm ci` has run its install scripts.",
  );
  process.exit(78);
}

// In a checkout Node runs the sources as they are, whatever was built once; installed, there is only the build.
const source = new URL("../src/main.ts", import.meta.url);
const isCheckout = existsSync(source);
if (isCheckout) {
  // Half of a start would go into stripping types from hundreds of files: what comes of that is kept for the next one.
  module.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/excursor", import.meta.url)));
}
const { main } = await import(isCheckout ? source.href : new URL("../dist/main.js", import.meta.url).href);
await main(process.argv);
