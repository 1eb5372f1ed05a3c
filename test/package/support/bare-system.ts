import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listFiles, npmInstall, run } from "./installation.ts";
import { nodeOf } from "./node-version.ts";

/** Only root can make such a system, and only from Debian's packages. */
export const CAN_HAVE_SYSTEM =
  process.getuid?.() === 0 &&
  ["mmdebstrap", "unshare", "tmux"].every((name) => spawnSync(name, ["--version"]).error === undefined);

/** A user of the system. */
export const USER = 1000;

/** A Debian with nothing but Node 22.13 and npm, in a folder. It shares the network with this machine. */
export interface BareSystem {
  readonly root: string;
  /** The words that run a program in it, as root or as the user; `sh -c` runs a script. */
  command(user: number, environment: Readonly<Record<string, string>>, ...words: string[]): readonly string[];
  /** Every file, without caches and what the kernel shows. */
  files(): readonly string[];
  remove(): void;
}

/** Mounts what programs expect, in a namespace that ends with them. */
const ENTER = `set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1 user=$2; shift 2
exec /usr/sbin/chroot --userspec="$user:$user" "$root" "$@"
`;

export function makeBareSystem(tarball: string): BareSystem {
  // Debian's packages take minutes, so they are kept for the next run.
  const base = join(tmpdir(), "excursor-debian.tar");
  if (!existsSync(base)) {
    const made = `${base}.new`;
    run("mmdebstrap", ["--variant=minbase", "--include=ca-certificates,libstdc++6", "bookworm", made], tmpdir());
    // An interrupted run leaves no half of it.
    renameSync(made, base);
  }
  const root = mkdtempSync(join(tmpdir(), "excursor-system-"));
  run("tar", ["-xf", base, "-C", root], root);
  run("chmod", ["755", root], root);
  copyFileSync(nodeOf("22.13.0"), join(root, "usr/local/bin/node"));
  npmInstall(makeProject(join(root, "usr/local/lib/npm-home")), "npm@10.9.2");
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/npm-home/node_modules/npm/bin/${name}-cli.js`, join(root, `usr/local/bin/${name}`));
  }
  // npm's own folder, which is there wherever npm is.
  mkdirSync(join(root, "usr/local/lib/node_modules"));
  copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"));
  const certificates = process.env["NODE_EXTRA_CA_CERTS"];
  if (certificates) copyFileSync(certificates, join(root, "etc/extra-certificates.pem"));
  copyFileSync(tarball, join(root, "excursor.tgz"));
  writeFileSync(
    join(root, "etc/npmrc-for-tests"),
    "cache=/tmp/npm-cache\naudit=false\nfund=false\nupdate-notifier=false\n",
  );
  const system: BareSystem = {
    root,
    command: (user, environment, ...words) => [
      "unshare",
      "--mount",
      "--pid",
      "--fork",
      "sh",
      "-c",
      ENTER,
      "sh",
      root,
      String(user),
      "/usr/bin/env",
      "-i",
      "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
      "TERM=xterm",
      "NPM_CONFIG_GLOBALCONFIG=/etc/npmrc-for-tests",
      ...(certificates ? ["NODE_EXTRA_CA_CERTS=/etc/extra-certificates.pem"] : []),
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      ...words,
    ],
    files: () => listFiles(root).filter((path) => !/^(?:proc|dev|sys|tmp|run)(?:\/|$)/.test(path)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  const [program = "", ...args] = system.command(0, {}, "useradd", "--create-home", "--uid", String(USER), "tester");
  run(program, args, root);
  return system;
}

function makeProject(path: string): string {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "package.json"), "{}");
  return path;
}
