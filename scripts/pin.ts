import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** What a release runs or copies by a name that its owner can move: an action of a workflow, or the image of a container. */
interface Reference {
  readonly type: "action" | "image";
  /** Without the version. */
  readonly name: string;
  readonly version: string;
}

const FILES = [".github/workflows/*.yml", "Dockerfile", "deploy/compose.yaml"];
const ACTION = /(?<=\buses: )([\w.-]+\/[\w.-]+)@(v[\w.]+)$/gm;
const IMAGE = /(?<=\bimage: |^ARG NODE_IMAGE=)([\w./-]+):([\w.-]+)$/gm;

/** Returns the references of a text that name no commit and no digest. */
export const findUnpinned = (text: string): readonly Reference[] => [
  ...references(text, ACTION, "action"),
  ...references(text, IMAGE, "image"),
];

const references = (text: string, pattern: RegExp, type: Reference["type"]): readonly Reference[] =>
  [...text.matchAll(pattern)].map(([, name = "", version = ""]) => ({ type, name, version }));

/** Adds to each reference what it is now. Throws if that cannot be found out. */
export function pin(text: string, resolve: (reference: Reference) => string): string {
  return text
    .replace(ACTION, (_, name: string, version: string) => {
      const commit = checked(resolve({ type: "action", name, version }), /^[0-9a-f]{40}$/, `${name}@${version}`);
      return `${name}@${commit} # ${version}`;
    })
    .replace(IMAGE, (_, name: string, version: string) => {
      const digest = checked(resolve({ type: "image", name, version }), /^sha256:[0-9a-f]{64}$/, `${name}:${version}`);
      return `${name}:${version}@${digest}`;
    });
}

function checked(found: string, form: RegExp, what: string): string {
  if (form.test(found)) return found;
  throw new Error(`${what} cannot be resolved. Is there a network?`);
}

/** Asks git for the commit of a tag, and docker for the digest of an image. */
function ask({ type, name, version }: Reference): string {
  if (type === "image") {
    return output("docker", [
      "buildx",
      "imagetools",
      "inspect",
      `${name}:${version}`,
      "--format",
      "{{.Manifest.Digest}}",
    ]);
  }
  const tag = `refs/tags/${version}`;
  const lines = output("git", ["ls-remote", `https://github.com/${name}`, tag, `${tag}^{}`]).split("\n");
  // An annotated tag has a line of its own for its commit, which comes last.
  return lines.at(-1)?.split("\t")[0] ?? "";
}

function output(command: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "";
}

function main(args: readonly string[]): void {
  const files = FILES.flatMap((pattern) => globSync(pattern)).sort();
  if (args.length === 0) {
    for (const file of files) writeFileSync(file, pin(readFileSync(file, "utf8"), ask));
    return;
  }
  if (args.join(" ") !== "--check") {
    console.error(`scripts/pin.ts takes --check or nothing, not ${args.join(" ")}.`);
    process.exitCode = 64;
    return;
  }
  const unpinned = files.flatMap((file) =>
    findUnpinned(readFileSync(file, "utf8")).map(({ name, version }) => `${file}: ${name} ${version}`),
  );
  if (unpinned.length === 0) return;
  console.error(`Without a commit or digest (run \`node scripts/pin.ts\` and commit):\n${unpinned.join("\n")}`);
  process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main(process.argv.slice(2));
