import { Command, Option } from "@commander-js/extra-typings";
import { portNumber, wholeNumber } from "../../option-values.ts";

const DRAIN_MS = 5000;

export const simCommand = () =>
  new Command("sim")
    .description("Run the simulated Cursor backend. Prompts script its answers, and it enforces the protocol strictly.")
    .option("--port <n>", "port to listen on; 0 picks a free port", portNumber, 8765)
    .addOption(
      new Option("--host-config <transport>", "HTTP version that GetServerConfig names for runs")
        .choices(["h1", "h2"] as const)
        .default("h2" as const),
    )
    .option("--tls-cert <file>", "PEM certificate: serve TLS instead of plain HTTP")
    .option("--tls-key <file>", "PEM key for --tls-cert")
    .addOption(
      new Option("--legacy <mode>", "whether StreamChat works or returns a deprecation error")
        .choices(["on", "deprecated"] as const)
        .default("deprecated" as const),
    )
    .option("--lenient", "record protocol violations in the trace and continue", false)
    .option("--bootstrap-ms <n>", "delay before the first frame of a new run, in milliseconds", wholeNumber, 0)
    .option("--idle-ms <n>", "end a run whose client sends nothing for so long; 0 is no limit", wholeNumber, 0)
    .option("--token-ttl <s>", "lifetime of issued tokens, in seconds", wholeNumber, 3600)
    .addOption(
      new Option("--refresh-tokens <kind>", "whether a refresh token can be reused or each use replaces it")
        .choices(["reusable", "rotating"] as const)
        .default("reusable" as const),
    )
    .option(
      "--poll-interval <ms>",
      "shortest interval between login polls; faster polls are told to slow down",
      wholeNumber,
      0,
    )
    .option("--max-resets <n>", "close an HTTP/2 connection that resets more streams than this", wholeNumber)
    .option("--min-client-version <version>", "refuse agent calls of older CLIs, such as cli-2026.05.01")
    .option("--script <file>", "script for turns without a script in the prompt")
    .addOption(
      new Option(
        "--cassette <file>",
        "answer as the backend in this capture did, to a client that sends the same",
      ).conflicts("script"),
    )
    .option("--trace <file>", "write all traffic to this file as JSON lines")
    .option("--json", "print the ready line as JSON", false)
    .addHelpText(
      "after",
      `
Script the answer in the prompt, for example:
  @sim think let me see ;; call read_file {"path":"a.txt"} ;; say it holds: {{result}}

docs/simulator.md describes the steps.`,
    )
    .action(async (flags) => (await import("../../actions/protocol/sim.ts")).runSim(flags, DRAIN_MS));
