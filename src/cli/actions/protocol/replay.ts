import { styleText } from "node:util";
import { openAccounts } from "../../../app/accounts/open-accounts.ts";
import { type LoadedConfig, loadConfig } from "../../../app/load-config.ts";
import type { Masker } from "../../../capture/mask/masker.ts";
import { MaskedCapture } from "../../../capture/masked-capture.ts";
import { backendOrigin } from "../../../config/backend-origin.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { Secret } from "../../../core/secret.ts";
import { type Cassette, loadCassette } from "../../../replay/cassette.ts";
import { type CallReplay, othersOf, replayCassette } from "../../../replay/replay-cassette.ts";
import { headersWith } from "../../../replay/replay-target.ts";
import type { Step } from "../../../replay/steps.ts";
import { isLoopback } from "../../../server/gate/public-bind.ts";
import { createConnectionPool } from "../../../wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../wire/http/h1-transport.ts";
import { parseOrigin } from "../../../wire/http/http.ts";
import { proxyFromEnvironment } from "../../../wire/http/proxy.ts";
import { createMasker } from "../../open-masked-capture.ts";
import { askYesNo } from "../../terminal/ask-yes-no.ts";

interface ReplayFlags {
  readonly to: string;
  readonly account?: string | undefined;
  readonly tokenFrom?: string | undefined;
  readonly paced: boolean;
  readonly timeout: number;
  readonly all: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Returns the exit code: 1 if an answer differs from the recorded one. */
export async function runReplay(file: string, flags: ReplayFlags): Promise<number> {
  const { account, json } = flags;
  const loaded = loadConfig({ flags: { account }, environment: process.env });
  const { origin } = parseOrigin(flags.to);
  checkTarget(origin, loaded, flags.yes);
  const masker = createMasker();
  const cassette = await loadCassette(new MaskedCapture(file, masker));
  if (cassette.problem !== undefined) process.stderr.write(`${cassette.problem}\n`);
  if (flags.all && !flags.yes) await confirmOthers(cassette, origin);
  const token = await findToken(origin, flags);
  const findProxy = proxyFromEnvironment(process.env);
  const transports = { h1: createHttp1Transport({ findProxy }), h2: createConnectionPool({ findProxy }) };
  const replays: CallReplay[] = [];
  try {
    const target = {
      origin,
      transports,
      isPaced: flags.paced,
      timeoutMs: flags.timeout * 1000,
      sendsAll: flags.all,
      headersFor: headersWith(token, flags.all),
    };
    for await (const raw of replayCassette(cassette, target)) {
      const replay = maskAnswer(raw, masker);
      replays.push(replay);
      if (!json) process.stdout.write(lineOf(replay));
    }
  } finally {
    transports.h1.destroy();
    transports.h2.destroy();
  }
  const count = (wanted: CallReplay["result"]) => replays.filter(({ result }) => result === wanted).length;
  const counts = { same: count("same"), different: count("different"), skipped: count("skipped") };
  process.stdout.write(
    json
      ? `${jsonText({ to: origin, ...counts, calls: replays }, 2)}\n`
      : `${counts.same} same, ${counts.different} different, ${counts.skipped} skipped.\n`,
  );
  if (!token && replays.some(isRefused)) {
    process.stderr.write("The backend wants a token, and the calls had none. Give --account or --token-from.\n");
  }
  return counts.different > 0 ? 1 : 0;
}

/** Somebody else may have made the capture, and these calls are made in the user's name. */
async function confirmOthers(cassette: Cassette, origin: string): Promise<void> {
  const others = othersOf(cassette);
  if (others.length === 0) return;
  process.stderr.write(
    `Beside runs and known reads, --all sends:\n${others.map((one) => `  ${printable(one)}\n`).join("")}`,
  );
  if (process.stdin.isTTY && (await askYesNo(`Send them to ${origin}?`, false))) return;
  throw new ExcursorError("canceled", "Nothing was sent.", { hint: "Leave --all out, or add --yes." });
}

/** Masks what the backend says now as what it has said: both are shown. */
function maskAnswer(replay: CallReplay, masker: Masker): CallReplay {
  const now = replay.difference?.now;
  return replay.difference && now
    ? { ...replay, difference: { ...replay.difference, now: { ...now, text: masker.text(now.text) } } }
    : replay;
}

/** True if the backend refused a call that it took when it was recorded, for want of a token. */
const isRefused = ({ difference }: CallReplay): boolean =>
  /^(?:HTTP 401|unauthenticated)$/.test(difference?.now?.text ?? "");

/** A capture holds what somebody said. It goes to no backend that the user has not chosen (SEC-13). */
function checkTarget(origin: string, { values }: LoadedConfig, yes: boolean): void {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, "");
  if (yes || isLoopback(host) || host === "localhost" || origin === backendOrigin(values.upstream)) return;
  throw new ExcursorError("foreign_target", [origin]);
}

async function findToken(origin: string, { account, tokenFrom }: ReplayFlags): Promise<Secret | undefined> {
  if (tokenFrom !== undefined) {
    const value = process.env[tokenFrom];
    if (value !== undefined && value !== "") return new Secret(value);
    throw new ExcursorError("config", `--token-from: the environment variable ${tokenFrom} is not set.`);
  }
  if (account === undefined) return undefined;
  const loaded = loadConfig({ flags: { account, upstream: origin }, environment: process.env });
  const accounts = openAccounts(loaded, {
    onSecret: () => {},
    onNotice: (text) => process.stderr.write(`${printable(text)}\n`),
  });
  try {
    return (await accounts.access.get(account)).token;
  } finally {
    accounts.close();
  }
}

const MARKS = { same: ["same", "green"], different: ["diff", "red"], skipped: ["-", "dim"] } as const;

function lineOf({ call, path, ms, result, reason, difference }: CallReplay): string {
  const [mark, colour] = MARKS[result];
  const label = styleText(colour, mark.padEnd(5), { stream: process.stdout });
  const facts = result === "skipped" ? `not sent: ${reason}` : `${Math.round(ms)} ms`;
  const more = difference
    ? `      step ${difference.step}\n      recorded: ${shown(difference.recorded)}\n      now:      ${shown(difference.now)}\n`
    : "";
  return `${label} #${call} ${printable(path)}  ${facts}\n${more}`;
}

const MAX_SHOWN = 200;

function shown(step: Step | undefined): string {
  if (!step) return "nothing";
  const text = step.text.length > MAX_SHOWN ? `${step.text.slice(0, MAX_SHOWN)}…` : step.text;
  return printable(text === "" ? step.kind : `${step.kind} ${JSON.stringify(text)}`);
}
