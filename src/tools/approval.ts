import { hash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Secret } from "../core/secret.ts";
import type { OAuthSettings } from "./oauth/oauth-settings.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * What somebody approves who approves a server of a project: all that decides what is run or called, the program's real
 * path included. Another command under the same name is something else (SEC-41).
 */
export function approvalDigest(server: ServerConfig, project: string, path: string | undefined): string {
  const content =
    server.type === "stdio"
      ? [
          realCommand(server.command, server.folder ?? project, path) ?? server.command,
          server.args,
          revealed(server.env),
          server.folder ?? null,
        ]
      : [server.type, server.url.href, revealed(server.headers), ...oauthContent(server.oauth)];
  return hash("sha256", JSON.stringify([project, server.name, server.type, ...content]), "base64url");
}

/** The file that a command stands for, links followed; undefined if there is none. */
function realCommand(command: string, folder: string, path = ""): string | undefined {
  const isPath = isAbsolute(command) || command.includes("/") || command.includes("\\");
  const candidates = isPath ? [resolve(folder, command)] : path.split(delimiter).map((part) => join(part, command));
  const found = candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile());
  return found === undefined ? undefined : realpathSync(found);
}

/** Nothing where nothing is said, so that what was approved before there was any of it stays approved. */
function oauthContent(oauth: OAuthSettings | undefined): readonly unknown[] {
  if (oauth?.clientId === undefined && oauth?.clientMetadataUrl === undefined) return [];
  return [{ ...oauth, clientSecret: oauth.clientSecret?.reveal(), privateKey: oauth.privateKey?.reveal() }];
}

/** Only ever hashed. */
const revealed = (values: Readonly<Record<string, Secret>>) =>
  Object.entries(values)
    .map(([name, value]) => [name, value.reveal()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
