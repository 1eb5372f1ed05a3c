import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

// Bundles the dashboard's page into dist/ui. It is built beside and then put in place, so that a gateway that reads it
// meanwhile, or another build, finds a whole one.
const root = fileURLToPath(new URL("../", import.meta.url));
const target = join(root, "dist", "ui");
const fresh = join(root, "dist", `ui-${process.pid}`);

await build({
  configFile: false,
  root: join(root, "ui"),
  base: "/ui/",
  logLevel: "warn",
  build: {
    outDir: fresh,
    emptyOutDir: true,
    target: "es2022",
    // No file of the page is inline: its policy forbids that.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        entryFileNames: "assets/app.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
rmSync(target, { recursive: true, force: true });
try {
  renameSync(fresh, target);
} catch (error) {
  // Another build has been faster.
  rmSync(fresh, { recursive: true, force: true });
  if (!existsSync(target)) throw error;
}
