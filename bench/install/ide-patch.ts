import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adapterModule } from "../../test/ide/support/cursor-bundles.ts";
import { type BenchResult, median, ROUNDS, spreadOf } from "../harness/measure.ts";

/** The size of Cursor's own bundle. */
const BUNDLE_BYTES = 58 * 1000 * 1000;

interface Report {
  readonly times: readonly { readonly patchMs: number; readonly checkMs: number; readonly copyMs: number }[];
  readonly maxRssBytes: number;
}

/** Measures the time of a patch against reading, hashing and writing the bundle once, and its memory. */
export async function measureIdePatch(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "excursor-bench-"));
  try {
    const [root, home] = [join(folder, "cursor/resources/app"), join(folder, "home")];
    const bundle = join(root, "out/vs/workbench/workbench.desktop.main.js");
    mkdirSync(join(root, "out/vs/workbench"), { recursive: true });
    mkdirSync(home, { mode: 0o700 });
    const bytes = makeBundle();
    writeFileSync(bundle, bytes);
    const hash = createHash("sha256").update(bytes).digest("base64").replace(/=+$/, "");
    const checksums = { "vs/workbench/workbench.desktop.main.js": hash };
    writeFileSync(join(root, "product.json"), JSON.stringify({ nameShort: "Cursor", version: "3.2.0", checksums }));
    const { times } = run(root, home, bundle, ROUNDS);
    const alone = run(root, home, bundle, 1);
    const ratios = times.map(({ patchMs, copyMs }) => patchMs / copyMs);
    return [
      {
        name: "IDE patch of 58 MB: time / read, hash and write once",
        value: median(ratios),
        bound: 4,
        note: `${spreadOf(ratios, 2)}; ${Math.round(median(times.map(({ patchMs }) => patchMs)))} ms`,
      },
      { name: "IDE patch of 58 MB: own peak memory / bundle", value: alone.maxRssBytes / bytes.length, bound: 6 },
      {
        name: "IDE patch of 58 MB: syntax check, in a process of its own",
        value: (alone.times[0]?.checkMs ?? Number.NaN) / 1000,
        unit: "s",
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(root: string, home: string, bundle: string, rounds: number): Report {
  const script = fileURLToPath(new URL("ide-patch-process.ts", import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, root, home, bundle, String(rounds)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the patch failed: ${stderr}`);
  return JSON.parse(stdout) as Report;
}

/** Makes a bundle of minified classes, each a little different, with the wanted class in the middle. */
function makeBundle(): Buffer {
  const pieces: string[] = ["/*! licence */\n"];
  const half = BUNDLE_BYTES / 2;
  const fill = (bytes: number, seed: number) => {
    for (let length = 0, n = seed; length < bytes; n++) {
      const name = `$${n.toString(36)}`;
      const piece = `var ${name}=class{constructor(e,t){this.a=e,this.b=t??{},this.c=new Map}handleTextDelta(n){return n?.length===0?void 0:this.c.get(n)??\`\${n}-${n}\`}dispose(){for(const e of this.c.values())e.dispose?.();this.c.clear()}};function f${name}(e,t){const i=/[}{"'\`]${n}/g;return e.handleTextDelta(t.replace(i,"class{")),t in e?{...e,[t]:${n}}:e}\n`;
      pieces.push(piece);
      length += piece.length;
    }
  };
  fill(half, 0);
  pieces.push(`var zZ0=${adapterModule("3.2.0")};`);
  fill(half, 10_000_000);
  pieces.push("export{zZ0 as A};\n");
  return Buffer.from(pieces.join(""));
}
