import { hash } from "node:crypto";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Secret } from "../core/secret.ts";
import type { OAuthSettings } from "./oauth/oauth-settings.ts";
import { packageVersions } from "./package-versions.ts";
import { realFile } from "./real-file.ts";
import type { HttpServer, ServerConfig, StdioServer } from "./server-config.ts";

/**
 * What somebody approves who approves a server of a project: all that decides what is run or called, the program's real
 * path and the versions of installed packages included. Another command under the same name is something else (SEC-41).
 */
export function approvalDigest(server: ServerConfig, project: string, path: string | undefined): string {
  const content = server.type === "stdio" ? programContent(server, project, path) : addressContent(server);
  return hash("sha256", JSON.stringify([project, server.name, server.type, ...content]), "base64url");
}

function programContent({ command, args, env, folder }: StdioServer, project: string, path: string | undefined) {
  const place = folder ?? project;
  const program = realCommand(command, place, path) ?? command;
  const versions = packageVersions([program, ...args], place);
  // Nothing where nothing is known, so that what was approved before there was any of it stays approved.
  return [program, args, revealed(env), folder ?? null, ...(versions.length > 0 ? [versions] : [])];
}

const addressContent = ({ type, url, headers, oauth }: HttpServer) => [
  type,
  url.href,
  revealed(headers),
  ...oauthContent(oauth),
];

/** The file that a command stands for, links followed; undefined if there is none. */
function realCommand(command: string, folder: string, path = ""): string | undefined {
  const isPath = isAbsolute(command) || command.includes("/") || command.includes("\\");
  const candidates = isPath ? [resolve(folder, command)] : path.split(delimiter).map((part) => join(part, command));
  for (const candidate of candidates) {
    const file = realFile(candidate);
    if (file !== undefined) return file;
  }
  return undefined;
}

/** The same goes for these. */
function oauthContent(oauth: OAuthSettings | undefined): readonly unknown[] {
  if (!oauth) return [];
  const { grant, algorithm, ...said } = oauth;
  if (Object.values(said).every((value) => value === undefined)) return [];
  return [{ ...oauth, clientSecret: oauth.clientSecret?.reveal(), privateKey: oauth.privateKey?.reveal() }];
}

/** Only ever hashed. */
const revealed = (values: Readonly<Record<string, Secret>>) =>
  Object.entries(values)
    .map(([name, value]) => [name, value.reveal()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
