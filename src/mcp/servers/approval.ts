import { hash } from "node:crypto";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Secret } from "../../core/secret.ts";
import type { OAuthSettings } from "../oauth/oauth-settings.ts";
import { packageVersions } from "./package-versions.ts";
import { realFile } from "./real-file.ts";
import type { HttpServer, ServerConfig, StdioServer } from "./server-config.ts";

/**
 * Returns the digest that a user approves for a project's server. It covers everything that decides what is run or
 * called, including the program's real path and the versions of installed packages. Another command under the same name
 * has another digest (SEC-41).
 */
export function approvalDigest(server: ServerConfig, project: string, path: string | undefined): string {
  const content = server.type === "stdio" ? programContent(server, project, path) : addressContent(server);
  return hash("sha256", JSON.stringify([project, server.name, server.type, ...content]), "base64url");
}

function programContent({ command, args, env, folder }: StdioServer, project: string, path: string | undefined) {
  const place = folder ?? project;
  const program = realCommand(command, place, path) ?? command;
  const versions = packageVersions([program, ...args], place);
  // Omitted if empty, so that digests approved by earlier versions stay valid.
  return [program, args, revealed(env), folder ?? null, ...(versions.length > 0 ? [versions] : [])];
}

const addressContent = ({ type, url, headers, oauth }: HttpServer) => [
  type,
  url.href,
  revealed(headers),
  ...oauthContent(oauth),
];

/** Returns the file that a command runs, with links resolved; undefined if there is none. */
function realCommand(command: string, folder: string, path = ""): string | undefined {
  const isPath = isAbsolute(command) || command.includes("/") || command.includes("\\");
  const candidates = isPath ? [resolve(folder, command)] : path.split(delimiter).map((part) => join(part, command));
  for (const candidate of candidates) {
    const file = realFile(candidate);
    if (file !== undefined) return file;
  }
  return undefined;
}

/** Empty if nothing is set, for the same reason. */
function oauthContent(oauth: OAuthSettings | undefined): readonly unknown[] {
  if (!oauth) return [];
  const { grant, algorithm, ...said } = oauth;
  if (Object.values(said).every((value) => value === undefined)) return [];
  return [{ ...oauth, clientSecret: oauth.clientSecret?.reveal(), privateKey: oauth.privateKey?.reveal() }];
}

/** The result is only ever hashed. */
const revealed = (values: Readonly<Record<string, Secret>>) =>
  Object.entries(values)
    .map(([name, value]) => [name, value.reveal()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
