import { styleText } from "node:util";
import { loadConfig } from "../../../app/load-config.ts";
import { openGateway, type RunningGateway } from "../../../app/open-gateway.ts";
import { thisMachine } from "../../../app/this-machine.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText } from "../../../core/printable.ts";
import { askInDialect } from "../../dialects/ask-in-dialect.ts";
import { findClients } from "../../found-clients.ts";
import {
  checkPortIsKnown,
  findGateway,
  type GatewayAddress,
  gatewayAddress,
  runningGateway,
} from "../../gateway-address.ts";
import { createClient } from "../../gateway-client.ts";
import { noteConnected } from "../../note-connected.ts";
import { ownCommand } from "../../own-command.ts";
import { findService } from "../../service/service.ts";
import { nextSignal } from "../../shutdown.ts";
import { askLine, askYesNo } from "../../terminal/ask-yes-no.ts";
import { reportError } from "../../terminal/report-error.ts";
import { version } from "../../version.ts";
import { installProvenService } from "./install-proven-service.ts";

export interface SetupFlags {
  readonly demo: boolean;
  readonly yes: boolean;
  readonly answer: boolean;
  readonly connect: boolean;
  readonly service: boolean;
  readonly ui: boolean;
}

const ANSWER_MS = 120_000;

/** Leads through the first run: upstream, a test answer, clients, the service, the dashboard. */
export async function runSetup(flags: SetupFlags): Promise<void> {
  if (!flags.yes && !(process.stdin.isTTY && process.stderr.isTTY)) throw noTerminal();
  const ask = (question: string, usual: boolean) => (flags.yes ? Promise.resolve(true) : askYesNo(question, usual));
  const command = ownCommand(process.env);
  say(`\nExcursor ${version()}. Each step can be skipped, and \`${command} reset\` undoes all of them.\n`);

  const isDemo = flags.demo || (await choosesDemo(flags));
  checkPortIsKnown(gatewayAddress({}));
  const present = await runningGateway({});
  let own = present ? undefined : await startOwn(isDemo);
  if (present) title(`A gateway runs already at ${present.url}.`);
  try {
    const address = present ?? (await findGateway({}));
    // An account pays for the answer, the simulator does not.
    if (flags.answer && (isDemo || (await ask("Ask your account one short question, to see that it works?", true)))) {
      await proveAnswer(address, isDemo);
    }
    if (flags.connect) await connectClients(ask, isDemo);
    if (flags.service && !own) await noteRunning(address, flags);
    if (flags.service && own && (await offersService(ask, isDemo))) {
      await own.close();
      own = undefined;
      const isInstalled = await tryStep(async () => {
        const file = await installProvenService(address.url, isDemo);
        say(`${ok()}  the service is installed (${file}) and answers\n`);
      });
      if (!isInstalled) own = await startOwn(isDemo);
    }
    if (flags.ui && !flags.yes && (await ask("\nOpen the dashboard?", true))) {
      const { runUi } = await import("../ui.ts");
      await tryStep(() => runUi({ open: true, json: false }));
    }
    const again = `${command} serve${isDemo ? " --demo" : ""}`;
    if (own && flags.yes) {
      say(`\nDone. The gateway was only started for this; \`${again}\` starts it again.\n`);
      return;
    }
    say(`\nReady. Base URL ${address.url}/v1, API key: ${command} key. More: ${command} --help\n`);
    if (!own) return;
    say(`The gateway runs in this terminal. Ctrl-C stops it; \`${again}\` starts it again.\n`);
    await nextSignal();
  } finally {
    if (own) noteConnected(own.url);
    await own?.close();
  }
}

const say = (text: string): void => void process.stderr.write(text);
const title = (text: string): void => say(`\n${styleText("bold", text, { stream: process.stderr })}\n`);

async function choosesDemo({ yes }: SetupFlags): Promise<boolean> {
  if (await isSignedIn()) {
    title("Your Cursor account is signed in.");
    return false;
  }
  if (yes) {
    throw new ExcursorError("not_signed_in", [], { hint: "Run `excursor login` first, or use --demo." });
  }
  title("Where should answers come from?");
  say(
    "  1  the built-in simulator: a demo, no account needed\n  2  your Cursor account: sign in now, in the browser\n",
  );
  for (;;) {
    const answer = await askLine("Choose 1 or 2 [1]: ");
    if (answer === "" || answer === "1") return true;
    if (answer !== "2") continue;
    const { runLogin } = await import("../account/login.ts");
    const isDone = await tryStep(() => runLogin({ account: "default", browser: true, json: false }));
    if (isDone) return false;
  }
}

/** True if a gateway would find an account. */
async function isSignedIn(): Promise<boolean> {
  const { openAccounts } = await import("../../../app/accounts/open-accounts.ts");
  const { findLogin } = await import("../../../credentials/find-login.ts");
  const loaded = loadConfig({ flags: {}, environment: process.env });
  const accounts = openAccounts(loaded, { onSecret: () => {}, onNotice: () => {} });
  try {
    await findLogin(accounts.sources, Date.now(), () => {});
    return true;
  } catch {
    return false;
  } finally {
    accounts.close();
  }
}

async function startOwn(isDemo: boolean): Promise<RunningGateway> {
  const loaded = loadConfig({ flags: { logLevel: "error" }, environment: process.env });
  const gateway = await openGateway(loaded, {
    isDemo,
    writeLog: (text) => process.stderr.write(text),
    hasDoor: true,
    dashboard: {
      version: version(),
      async examine() {
        const { examine } = await import("../../doctor/examine.ts");
        return examine({ settings: {}, demo: isDemo, quick: true });
      },
    },
  });
  gateway.prewarm();
  title(`The gateway runs at ${gateway.url}.`);
  return gateway;
}

async function proveAnswer(address: GatewayAddress, isDemo: boolean): Promise<void> {
  const prompt = isDemo ? "@sim say Hello from the simulator." : "Reply with the single word: hello";
  const startedAt = performance.now();
  const { text } = await askInDialect(
    "chat",
    createClient(address),
    { prompt, model: "auto" },
    AbortSignal.timeout(ANSWER_MS),
  );
  if (text === "") throw new ExcursorError("empty_answer");
  say(`${ok()}  a first answer in ${Math.round(performance.now() - startedAt)} ms: ${jsonText(text.slice(0, 200))}\n`);
}

const ok = (): string => styleText("green", "ok", { stream: process.stderr });

type Ask = (question: string, usual: boolean) => Promise<boolean>;

async function connectClients(ask: Ask, isDemo: boolean): Promise<void> {
  const machine = thisMachine();
  const clients = findClients(machine);
  title(
    clients.length === 0
      ? "No known client was found here. `excursor connect --help` lists those that Excursor can configure."
      : "Clients on this machine",
  );
  if (isDemo && clients.length > 0)
    say("This is a demo: a client that is connected gets simulated answers, until you disconnect it.\n");
  const { runConnect } = await import("../connect.ts");
  for (const client of clients) {
    if (!(await ask(`Connect ${client.title}? This changes ${client.file(machine)}`, !isDemo))) continue;
    const flags = { model: "auto", prove: false, write: true, json: false };
    await tryStep(() => runConnect(client.id, flags));
  }
}

/** The gateway that runs already has the port, so no service can start. Scripts must see that as a failure. */
async function noteRunning({ url }: GatewayAddress, { yes }: SetupFlags): Promise<void> {
  if (findService()?.isInstalled) return;
  const refused = new ExcursorError("service_needs_port", [url]);
  if (yes) process.exitCode = await reportError(refused);
  else title(`${refused.message} ${refused.hint}`);
}

function offersService(ask: Ask, isDemo: boolean): Promise<boolean> {
  title("Background service");
  return ask(`Run the gateway in the background, from every login on${isDemo ? " (in demo mode)" : ""}?`, false);
}

/** Runs a step. On a failure, reports it and returns false. */
async function tryStep(step: () => unknown): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    if (error instanceof ExcursorError && error.kind === "canceled") throw error;
    process.exitCode = await reportError(error);
    return false;
  }
}

const noTerminal = (): ExcursorError => new ExcursorError("no_terminal");
