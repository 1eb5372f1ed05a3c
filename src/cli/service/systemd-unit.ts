import type { ServicePlan } from "./service-plan.ts";

/** The settings are wrong or nobody is signed in: a restart would not help. */
const USELESS_RESTARTS = "65 77 78";

/**
 * Returns a user unit for systemd. Folders of the user stay writable, since agents and MCP servers work there. There is
 * no MemoryDenyWriteExecute: V8 compiles code. There is no ProtectKernelModules and the like, which drop capabilities: a
 * manager of a user may not do that, and the service would not start (218/CAPABILITIES).
 */
export const systemdUnit = ({ node, program, flags, environment }: ServicePlan): string => `[Unit]
Description=Excursor gateway
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${[node, program, "serve", ...flags].map(quoteArgument).join(" ")}
${Object.entries(environment)
  .map(([name, value]) => `Environment=${quote(`${name}=${value}`)}\n`)
  .join("")}Restart=on-failure
RestartSec=2
RestartPreventExitStatus=${USELESS_RESTARTS}
KillMode=mixed
TimeoutStopSec=45
UMask=0077
NoNewPrivileges=yes
ProtectSystem=full
PrivateTmp=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`;

/** Quotes a word as systemd reads it: `%` is special even inside quotes. */
const quote = (word: string): string =>
  `"${word.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("%", "%%")}"`;

/** In a command, `$` is special, too. */
const quoteArgument = (word: string): string => quote(word.replaceAll("$", "$$$$"));
