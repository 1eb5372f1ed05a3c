import type { AgentRow, AgentsReply } from "../../src/dashboard/messages.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { Table } from "../parts/table.tsx";
import { useLoaded, useReloads } from "../parts/use-loaded.ts";

const RELOAD_MS = 2000;

const STATES: Readonly<Record<AgentRow["state"], readonly [kind: string, text: string]>> = {
  missing: ["", "not installed"],
  stopped: ["", "not started"],
  starting: ["accent", "starting"],
  running: ["ok", "running"],
  failed: ["bad", "failed"],
};

/** The agents, with the states of their programs. What they ask is shown above every page. */
export function Agents() {
  const { value, error, reload } = useLoaded<AgentsReply>("/agents");
  useReloads(reload, RELOAD_MS);
  return (
    <Section title="Agents" note="programs that speak ACP, offered as models">
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Agents"
        columns={[
          { title: "Agent", isWide: true, cell: ({ name }) => name },
          { title: "Model", cell: ({ model }) => <span class="mono">{model}</span> },
          { title: "State", cell: (agent) => <State agent={agent} /> },
        ]}
        rows={value?.agents ?? []}
        keyOf={({ model }) => model}
        empty="No agent was found. Known agents are offered if their program is in PATH; docs/acp.md lists them."
      />
      <p class="muted small-text below">
        An agent starts with its first request. While this dashboard is open, agents ask here before they use a tool
        that their settings do not allow.
      </p>
    </Section>
  );
}

function State({ agent: { state, turns, problem } }: { readonly agent: AgentRow }) {
  const [kind, text] = STATES[state];
  return (
    <span class="wrap finding">
      <span class={`tag ${kind}`}>{turns > 0 && state === "running" ? "at work" : text}</span>{" "}
      {problem !== null && <span class="muted">{problem}</span>}
    </span>
  );
}
