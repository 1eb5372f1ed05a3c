import { Command, Option } from "@commander-js/extra-typings";
import { portNumber, wholeNumber } from "../option-values.ts";

const DRAIN_MS = 5000;

export const simCommand = () =>
  new Command("sim")
    .description("Run the simulated Cursor backend: scripted by the prompt, strict about the protocol.")
    .option("--port <n>", "port to listen on; 0 picks a free one", portNumber, 8765)
    .addOption(
      new Option("--host-config <transport>", "what GetServerConfig tells clients to use for runs")
        .choices(["h1", "h2"] as const)
        .default("h2" as const),
    )
    .option("--tls-cert <file>", "PEM certificate: serve TLS instead of plain HTTP")
    .option("--tls-key <file>", "PEM key that goes with --tls-cert")
    .addOption(
      new Option("--legacy <mode>", "whether the old StreamChat works or answers that it is deprecated")
        .choices(["on", "deprecated"] as const)
        .default("deprecated" as const),
    )
    .option("--lenient", "go on, with a trace entry, where a client breaks the protocol", false)
    .option("--bootstrap-ms <n>", "delay before the first frame of a new run", wholeNumber, 0)
    .option("--token-ttl <s>", "lifetime in seconds of the tokens it hands out", wholeNumber, 3600)
    .addOption(
      new Option("--refresh-tokens <kind>", "whether refresh tokens are good again and again, or replaced by each use")
        .choices(["reusable", "rotating"] as const)
        .default("reusable" as const),
    )
    .option("--poll-interval <ms>", "who polls for a login more often is told to slow down", wholeNumber, 0)
    .option("--max-resets <n>", "cut an HTTP/2 connection that resets more streams than this", wholeNumber)
    .option("--script <file>", "steps for turns that bring no script of their own")
    .option("--trace <file>", "write what passes as JSON lines")
    .option("--json", "print the ready line as JSON", false)
    .addHelpText(
      "after",
      `
Script it by the prompt, for example:
  @sim think let me see ;; call read_file {"path":"a.txt"} ;; say it holds: {{result}}

The steps are described in docs/simulator.md.`,
    )
    .action(async (flags) => {
      const { runSim } = await import("./run-sim.ts");
      await runSim(flags, DRAIN_MS);
    });
