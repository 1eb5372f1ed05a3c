import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BenchResult, median, ROUNDS, spreadOf } from "../harness/measure.ts";

const KEY = "bench-8Qm2vX7rT4kZ9wLc5nB1";

/** Compares the installed package with a bare Node, and with a checkout. Packs and installs it first. */
export async function measureInstalled(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "excursor-installed-"));
  try {
    execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { stdio: "ignore" });
    const tarball = readdirSync(folder)[0] ?? "";
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", tarball], { cwd: folder, stdio: "ignore" });
    const installed = join(folder, "node_modules/excursor/bin/excursor.js");
    return [
      await compare(
        "installed: --version, to node -e 0",
        2,
        () => timeOf([installed, "--version"]),
        () => timeOf(["-e", "0"]),
      ),
      await compare(
        "installed: start to first answer, to a checkout",
        1.3,
        () => timeToAnswer(installed, folder),
        () => timeToAnswer("bin/excursor.js", folder),
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Measure = () => number | Promise<number>;

async function compare(name: string, bound: number, ours: Measure, theirs: Measure): Promise<BenchResult> {
  // The first round fills the caches of the disk and of the compiler.
  for (const measure of [ours, theirs]) await measure();
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const pair = round % 2 === 0 ? [await ours(), await theirs()] : [await theirs(), await ours()].reverse();
    ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
  }
  return { name, bound, value: median(ratios), note: spreadOf(ratios, 2) };
}

function timeOf(args: readonly string[]): number {
  const startedAt = performance.now();
  execFileSync(process.execPath, args, { stdio: "ignore" });
  return performance.now() - startedAt;
}

async function timeToAnswer(program: string, home: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, "serve", "--demo", "--port", "0", "--key", KEY], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, EXCURSOR_HOME: join(home, "home") },
  });
  const exited = once(child, "exit");
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const response = await fetch(`${line.slice("ready ".length)}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "auto", messages: [{ role: "user", content: "@sim say hello" }] }),
    });
    const answer = await response.text();
    if (!answer.includes("hello")) throw new Error(`not the answer: ${answer}`);
    return performance.now() - startedAt;
  } finally {
    child.kill();
    await exited;
  }
}
