import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** How this system opens an address; undefined where nobody sits in front of it. Never a shell: it is an argument (SEC-43). */
export function browserCommand(platform: NodeJS.Platform, environment: Environment): readonly string[] | undefined {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = environment;
  if (BROWSER) return [BROWSER];
  if (SSH_CONNECTION) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

/** Tries to open an address; whether that worked, nobody knows. */
export function openBrowser(url: string, environment: Environment = process.env): boolean {
  const command = browserCommand(process.platform, environment);
  const [program, ...args] = command ?? [];
  if (program === undefined) return false;
  spawn(program, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
  return true;
}
