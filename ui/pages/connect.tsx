import { useState } from "preact/hooks";
import type { ClientRow, ClientsReply, CursorWay, DiffLine, DiffReply } from "../../src/dashboard/messages.ts";
import { CopyButton, CopyText } from "../parts/copy-text.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import type { Page } from "./page.ts";

export const connectPage: Page = { path: "/ui/connect", title: "Connect", icon: "plug", Content: ConnectContent };

function ConnectContent() {
  const { value, error, reload } = useLoaded<ClientsReply>("/clients");
  return (
    <>
      <div class="page-head">
        <h1>Connect</h1>
        <div class="actions">
          <button type="button" onClick={reload}>
            Check again
          </button>
        </div>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <Section
        title="Clients"
        note="this page only reads their files; the command changes them, and disconnect restores them"
      >
        <div class="card clients">
          {!value && error === undefined && <p class="muted">Looking for clients…</p>}
          {value?.clients.map((client) => (
            <Client key={client.id} client={client} />
          ))}
        </div>
      </Section>
      <Section title="Your own code" note="the key is read from the environment: excursor key prints it">
        <div class="card clients">
          {value?.snippets.map(({ id, title, text }) => (
            <details key={id} class="tool">
              <summary>{title}</summary>
              <figure class="code">
                <figcaption>
                  <span class="muted">{id}</span>
                  <CopyButton text={text} label={`Copy the code for ${title}`} />
                </figcaption>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
                <pre tabIndex={0}>{text}</pre>
              </figure>
            </details>
          ))}
        </div>
      </Section>
      <Section title="Inside Cursor" note="three ways, checked now">
        <div class="ways">
          {value?.cursor.map((way) => (
            <Way key={way.id} way={way} />
          ))}
        </div>
      </Section>
    </>
  );
}

const STATES: Readonly<Record<ClientRow["state"], readonly [string, string]>> = {
  connected: ["ok", "connected"],
  changed: ["warn", "changed since"],
  none: ["", "not connected"],
};

function Client({ client }: { readonly client: ClientRow }) {
  const [isOpen, setIsOpen] = useState(false);
  const { id, title, state, file, hasFile } = client;
  const [kind, text] = STATES[state];
  return (
    <details class="tool" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <strong>{title}</strong> <span class={`tag ${kind}`}>{text}</span>
        <span class="muted tool-text">{hasFile ? file : `${file} does not exist yet`}</span>
      </summary>
      <div class="tool-body">
        <CopyText
          text={`excursor ${state === "none" ? "connect" : "disconnect"} ${id}`}
          label={`Copy the command for ${title}`}
        />
        {isOpen && <Diff client={id} />}
      </div>
    </details>
  );
}

function Diff({ client }: { readonly client: string }) {
  const { value, error } = useLoaded<DiffReply>(`/clients/${encodeURIComponent(client)}`);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (!value) return <p class="muted">Comparing…</p>;
  if (value.lines.length === 0) return <p class="muted">connect would change nothing.</p>;
  return (
    <figure class="code" aria-label="What connect would change">
      <figcaption>
        <span class="muted">{value.file}</span>
        <span class="muted">keys are hidden</span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
      <section class="diff" tabIndex={0} aria-label="Changed lines">
        {value.lines.map((line) => (
          <p class={line.kind}>
            {SIGNS[line.kind]} {line.text}
          </p>
        ))}
        {value.isCut && <p class="gap">… and more</p>}
      </section>
    </figure>
  );
}

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { same: " ", added: "+", removed: "−", gap: "⋯" };

const Way = ({ way: { title, purpose, isOn, finding, command } }: { readonly way: CursorWay }) => (
  <div class="card way">
    <h3>
      {title} <span class={`tag ${isOn ? "ok" : ""}`}>{isOn ? "on" : "off"}</span>
    </h3>
    <p>{purpose}</p>
    <p class="muted">{finding}</p>
    {!isOn && <CopyText text={command} label={`Copy the command for ${title}`} />}
  </div>
);
