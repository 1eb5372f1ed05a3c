import { useState } from "preact/hooks";
import type { McpServerRow, ToolCallReply, ToolReply, ToolRow, ToolsReply } from "../../src/dashboard/messages.ts";
import { NONE, span } from "../format.ts";
import { CopyText } from "../parts/copy-text.tsx";
import { ErrorNotice, Notice } from "../parts/notice.tsx";
import { SchemaForm } from "../parts/schema-form.tsx";
import { Section } from "../parts/section.tsx";
import { useLoaded, useReloads } from "../parts/use-loaded.ts";
import { post } from "../session.ts";
import { Agents } from "./agents.tsx";
import type { Page } from "./page.ts";
import { ServerSignIn } from "./server-sign-in.tsx";

export const toolsPage: Page = { path: "/ui/tools", title: "Tools", icon: "tool", Content: ToolsContent };

const POLL_MS = 1000;

function ToolsContent() {
  const { value: reply, error, reload } = useLoaded<ToolsReply>("/tools");
  const [connecting, setConnecting] = useState<{ readonly isBusy: boolean; readonly error?: unknown }>({
    isBusy: false,
  });
  const connect = () => {
    setConnecting({ isBusy: true });
    post<ToolsReply>("/tools", {})
      .then(
        () => setConnecting({ isBusy: false }),
        (failure) => setConnecting({ isBusy: false, error: failure }),
      )
      .finally(reload);
  };
  const isChanging =
    reply?.servers.some(({ state, signIn }) => state === "connecting" || signIn?.state === "waiting") ?? false;
  useReloads(reload, isChanging ? POLL_MS : undefined);
  const problem = connecting.error ?? error;
  return (
    <>
      <div class="page-head">
        <h1>Tools</h1>
        <div class="actions">
          <button type="button" disabled={connecting.isBusy || !reply || reply.servers.length === 0} onClick={connect}>
            {connecting.isBusy ? "Connecting…" : "Connect the servers"}
          </button>
        </div>
      </div>
      {problem !== undefined && <ErrorNotice error={problem} />}
      {reply?.problems.map((text) => (
        <Notice key={text} kind="warn" title={text} />
      ))}
      {reply && reply.servers.length === 0 && <NoServer />}
      {reply?.servers.map((server) => (
        <Server key={`${server.origin} ${server.name}`} server={server} onChange={reload} />
      ))}
      <Agents />
    </>
  );
}

const NoServer = () => (
  <div class="empty">
    <p>No MCP server is configured. Models get the tools of MCP servers from the gateway. Add one in a terminal:</p>
    <CopyText text="excursor mcp add memory -- npx -y @modelcontextprotocol/server-memory" label="Copy the command" />
  </div>
);

const KINDS: Readonly<Record<McpServerRow["state"], string>> = {
  ready: "ok",
  connecting: "accent",
  idle: "",
  disabled: "",
  failed: "bad",
  "needs sign-in": "warn",
  "not approved": "warn",
};

interface ServerProps {
  readonly server: McpServerRow;
  onChange(): void;
}

function Server({ server, onChange }: ServerProps) {
  const { name, state, target, origin, version, problems, digest, tools } = server;
  return (
    <Section
      title={name}
      note={
        <>
          <span class={`tag ${KINDS[state]}`}>{state}</span> {version}
        </>
      }
    >
      <section class="card server" aria-label={`MCP server ${name}`}>
        <p class="muted">
          <code>{target}</code> from {origin}
        </p>
        {problems.map((text) => (
          <Notice key={text} kind="warn" title={text} />
        ))}
        {(state === "needs sign-in" || server.signIn !== null) && <ServerSignIn server={server} onChange={onChange} />}
        {digest !== null && (
          <div class="approval">
            <span>
              This folder configures it, and you have not approved it. Digest <code>{digest.slice(0, 16)}</code>
            </span>
            <ApproveButton wanted={{ server: name, digest }} onDone={onChange} />
          </div>
        )}
        {state === "idle" && <p class="muted">It starts when its tools are needed, or when you connect the servers.</p>}
        {tools.map((tool) => (
          <Tool key={tool.name} server={name} tool={tool} onChange={onChange} />
        ))}
      </section>
    </Section>
  );
}

interface ApproveProps {
  readonly wanted: { readonly server: string; readonly tool?: string; readonly digest: string };
  onDone(): void;
}

function ApproveButton({ wanted, onDone }: ApproveProps) {
  const [error, setError] = useState<unknown>();
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`Approve ${[wanted.server, wanted.tool].filter(Boolean).join("/")}`}
        onClick={() => post("/approvals", wanted).then(onDone, setError)}
      >
        Approve
      </button>
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  );
}

interface ToolProps {
  readonly server: string;
  readonly tool: ToolRow;
  onChange(): void;
}

function Tool({ server, tool, onChange }: ToolProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="tool" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <code>{tool.name}</code> {tool.isHeld && <span class="tag warn">changed, not offered</span>}
        <span class="muted tool-text">{tool.description}</span>
      </summary>
      <div class="tool-body">
        <p class="muted small-text">
          Digest of its definition <code>{tool.digest}</code>
        </p>
        {tool.isHeld && (
          <div class="approval">
            <span>The server has changed this tool. Read its definition before you approve it.</span>
            <ApproveButton wanted={{ server, tool: tool.name, digest: tool.digest }} onDone={onChange} />
          </div>
        )}
        {isOpen && <TestCall server={server} tool={tool} />}
      </div>
    </details>
  );
}

function TestCall({ server, tool }: { readonly server: string; readonly tool: ToolRow }) {
  const query = new URLSearchParams({ server, tool: tool.name });
  const { value, error } = useLoaded<ToolReply>(`/tool?${query}`);
  const [call, setCall] = useState<{
    readonly isBusy: boolean;
    readonly reply?: ToolCallReply;
    readonly error?: unknown;
  }>({
    isBusy: false,
  });
  const run = (args: object) => {
    setCall({ isBusy: true });
    post<ToolCallReply>("/tool-calls", { server, tool: tool.name, arguments: args }).then(
      (reply) => setCall({ isBusy: false, reply }),
      (failure) => setCall({ isBusy: false, error: failure }),
    );
  };
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (!value) return <p class="muted">Loading…</p>;
  return (
    <>
      <p class="tool-description">{value.description || NONE}</p>
      <details>
        <summary class="muted">Schema</summary>
        <pre class="plain">{JSON.stringify(value.schema, null, 2)}</pre>
      </details>
      {!tool.isHeld && (
        <SchemaForm
          id={`${server}-${tool.name}`}
          schema={value.schema}
          submit={call.isBusy ? "Calling…" : "Call the tool"}
          isBusy={call.isBusy}
          onSubmit={run}
        />
      )}
      {call.error !== undefined && <ErrorNotice error={call.error} />}
      {call.reply && (
        <figure class="code" aria-label="Result">
          <figcaption>
            <span class={call.reply.isError ? "bad-text" : "muted"}>{call.reply.isError ? "error" : "result"}</span>
            <span class="muted">{span(call.reply.durationMs)}</span>
          </figcaption>
          <pre class="plain">{call.reply.text}</pre>
        </figure>
      )}
    </>
  );
}
