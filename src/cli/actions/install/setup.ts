import { styleText } from "node:util";
import { loadConfig } from "../../../app/load-config.ts";
import { openGateway, type RunningGateway } from "../../../app/open-gateway.ts";
import { thisMachine } from "../../../app/this-machine.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { askInDialect } from "../../dialects/ask-in-dialect.ts";
import { findClients } from "../../found-clients.ts";
import { checkPortIsKnown, type GatewayAddress, gatewayAddress } from "../../gateway-address.ts";
import { createClient } from "../../gateway-client.ts";
import { ownCommand } from "../../own-command.ts";
import { GatewayService } from "../../service/service.ts";
import { nextSignal } from "../../shutdown.ts";
import { askLine, askYesNo } from "../../terminal/ask-yes-no.ts";
import { reportError } from "../../terminal/report-error.ts";
import { version } from "../../version.ts";

export interface SetupFlags {
  readonly demo: boolean;
  readonly yes: boolean;
  readonly connect: boolean;
  readonly service: boolean;
  readonly ui: boolean;
}

const ANSWER_MS = 120_000;
const READY_MS = 20_000;
const POLL_MS = 200;

/** Leads through the first run: upstream, a test answer, clients, the service, the dashboard. */
export async function runSetup(flags: SetupFlags): Promise<void> {
  if (!flags.yes && !(process.stdin.isTTY && process.stderr.isTTY)) throw noTerminal();
  const ask = (question: string, usual: boolean) => (flags.yes ? Promise.resolve(true) : askYesNo(question, usual));
  const command = ownCommand(process.env);
  say(`\nExcursor ${version()}. Each step can be skipped, and \`${command} reset\` undoes all of them.\n`);

  const isDemo = flags.demo || (await choosesDemo(flags));
  const address = gatewayAddress({});
  checkPortIsKnown(address);
  let own = (await isReady(address)) ? undefined : await startOwn(isDemo);
  if (!own) title(`A gateway runs already at ${address.url}.`);
  try {
    await proveAnswer(address, isDemo);
    if (flags.connect) await connectClients(address, ask);
    if (flags.service && (await offerService(ask, isDemo, own !== undefined))) {
      await own?.close();
      own = undefined;
      await installService(address, isDemo);
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
    throw new ExcursorError("unauthenticated", "No Cursor account is signed in.", {
      code: "not_signed_in",
      hint: "Run `excursor login` first, or use --demo.",
    });
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
  if (text === "") throw new ExcursorError("upstream-failed", "The model answered nothing.", { code: "empty_answer" });
  say(
    `${ok()}  a first answer in ${Math.round(performance.now() - startedAt)} ms: ${JSON.stringify(text.slice(0, 200))}\n`,
  );
}

const ok = (): string => styleText("green", "ok", { stream: process.stderr });

type Ask = (question: string, usual: boolean) => Promise<boolean>;

async function connectClients(address: GatewayAddress, ask: Ask): Promise<void> {
  const machine = thisMachine();
  const clients = findClients(machine);
  title(
    clients.length === 0
      ? "No known client was found here. `excursor connect --help` lists those that Excursor can configure."
      : "Clients on this machine",
  );
  const { runConnect } = await import("../connect.ts");
  for (const client of clients) {
    if (!(await ask(`Connect ${client.title}? This changes ${client.file(machine)}`, true))) continue;
    const flags = { model: "auto", url: address.url, prove: false, write: true, json: false };
    await tryStep(() => runConnect(client.id, flags));
  }
}

async function offerService(ask: Ask, isDemo: boolean, canReplace: boolean): Promise<boolean> {
  if (!canReplace) return false;
  title("Background service");
  return ask(`Run the gateway in the background, from every login on${isDemo ? " (in demo mode)" : ""}?`, false);
}

/** Installs the service and waits until it answers. On a failure, says so and goes on. */
const installService = (address: GatewayAddress, isDemo: boolean): Promise<boolean> =>
  tryStep(async () => {
    const service = new GatewayService();
    service.install(isDemo ? ["--demo"] : []);
    await waitUntilReady(address);
    say(`${ok()}  the service is installed (${service.file}) and answers\n`);
  });

async function waitUntilReady(address: GatewayAddress): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (!(await isReady(address))) {
    if (performance.now() > deadline) {
      throw new ExcursorError("upstream-unavailable", `The service does not answer at ${address.url}.`, {
        code: "service_failed",
        hint: "`excursor service logs` shows why.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** True if a gateway with our key answers, false if nothing does. Throws if something else does. */
async function isReady(address: GatewayAddress): Promise<boolean> {
  try {
    await createClient(address).call("/v1/models");
    return true;
  } catch (error) {
    if (ExcursorError.from(error).code === "no_gateway") return false;
    throw new ExcursorError("busy", `${address.url} is used by another program, or by a gateway with another key.`, {
      code: "port_taken",
      hint: "Stop it, or set another port: `port` in the settings, or EXCURSOR_PORT.",
      cause: error,
    });
  }
}

/** Runs a step. On a failure, reports it and returns false. */
async function tryStep(step: () => unknown): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    if (error instanceof ExcursorError && error.kind === "canceled") throw error;
    process.exitCode = reportError(error);
    return false;
  }
}

const noTerminal = (): ExcursorError =>
  new ExcursorError("config", "There is no terminal to ask on.", {
    code: "no_terminal",
    hint: "Use --yes, with --demo or after `excursor login`. Or take the steps one by one: login, serve, connect, service.",
  });
