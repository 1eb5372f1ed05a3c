import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the command that opens an address; undefined without a desktop. Never uses a shell: the address is an
 * argument (SEC-43).
 */
export function browserCommand(platform: NodeJS.Platform, environment: Environment): readonly string[] | undefined {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = environment;
  if (BROWSER) return [BROWSER];
  if (SSH_CONNECTION) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

/** Tries to open an address. Returns false if there is no browser; success is not known. */
export function openBrowser(url: string, environment: Environment = process.env): boolean {
  const command = browserCommand(process.platform, environment);
  const [program, ...args] = command ?? [];
  if (program === undefined) return false;
  spawn(program, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
  return true;
}
