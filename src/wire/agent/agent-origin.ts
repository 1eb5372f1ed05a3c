/** Returns the origin of a host for agent calls. A token goes to Cursor's hosts only, whatever the backend says (SEC-13). */
export function trustedAgentOrigin(url: string): string | undefined {
  const host = /^https:\/\/([a-z0-9.-]+)\/?$/.exec(url)?.[1];
  return host?.endsWith(".cursor.sh") ? `https://${host}` : undefined;
}
