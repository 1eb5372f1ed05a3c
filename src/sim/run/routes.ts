import { type BidiAppendRequest, BidiService } from "../../gen/aiserver/v1/bidi_pb.ts";
import { findAppendProblem, readAppend } from "../../wire/agent/bidi-append.ts";
import { JSON_RUN } from "../../wire/agent/json-run.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { authenticate } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import { serveUnary } from "../rpc.ts";
import { AgentRun } from "./agent-run.ts";
import { type OpenRun, serveBidi, serveDownload } from "./stream-request.ts";

const openAgentRun: OpenRun = (...parts) => new AgentRun(...parts);

export const runRoutes: Routes = {
  "POST /agent.v1.AgentService/Run": (exchange, backend) => serveBidi(exchange, backend, openAgentRun, JSON_RUN),
  "POST /agent.v1.AgentService/RunSSE": (exchange, backend) => serveDownload(exchange, backend, openAgentRun),
  "POST /aiserver.v1.BidiService/BidiAppend": (exchange, backend) => {
    authenticate(exchange);
    return serveUnary(exchange, BidiService.method.bidiAppend, (append) => takeUpload(append, backend));
  },
};

/** Handles one upload. Accepts uploads for a run that is over: clients close their execs after the end. */
function takeUpload(request: BidiAppendRequest, { rendezvous, options }: Backend): Record<string, never> {
  const append = readAppend(request);
  const problem = findAppendProblem(request);
  if (problem !== undefined) {
    const { requestId: run } = append;
    options.trace?.({ t: Date.now(), run, transport: "h1", dir: "in", kind: "violation", message: problem });
    if (!options.isLenient) {
      const failure = new ConnectFailure("invalid_argument", problem);
      rendezvous.fail(run, failure);
      throw failure;
    }
  }
  if (!rendezvous.append(append)) throw new ConnectFailure("resource_exhausted", "Too much is waiting for this run.");
  return {};
}
