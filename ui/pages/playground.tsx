import { useRef, useState } from "preact/hooks";
import type { ModelsReply } from "../../src/dashboard/messages.ts";
import { span, whole } from "../format.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { CopyButton } from "../parts/copy-text.tsx";
import { ErrorNotice, Notice } from "../parts/notice.tsx";
import { SchemaForm } from "../parts/schema-form.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { useTail } from "../parts/use-tail.ts";
import { curlCommand } from "../playground/curl.ts";
import { type ChatMessage, DIALECTS } from "../playground/dialects.ts";
import { changeDraft, draft, questionOf, repeatable } from "../playground/draft.ts";
import { type Answer, ask, clear, play as conversation, reply, stop, type ToolQuestion } from "../playground/play.ts";
import type { RawEvent } from "../playground/read-stream.ts";
import { session } from "../session.ts";
import type { Page } from "./page.ts";

export const playgroundPage: Page = {
  path: "/ui/playground",
  title: "Playground",
  icon: "play",
  Content: PlaygroundContent,
};

const MAX_IMAGES = 8;
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

function PlaygroundContent() {
  const { value: models, error: modelsError } = useLoaded<ModelsReply>("/models");
  const [problem, setProblem] = useState<string>();
  const [isOver, setIsOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const play = conversation.value;
  const { model, dialect: dialectId, usesHub, system, text, images } = draft.value;
  const turnsPlace = useTail<HTMLDivElement>(play);
  const dialect = DIALECTS.find(({ id }) => id === dialectId) ?? DIALECTS[0];
  const isDemo = session.value.type === "open" && session.value.isDemo;

  const copied = repeatable(draft.value, play.turns);
  const submit = () => {
    if (play.isRunning || text.trim() === "") return;
    const asked: ChatMessage = { role: "user", text, images };
    const question = questionOf(draft.value, play.turns, asked);
    changeDraft({ text: "", images: [] });
    void ask(dialect, question, asked, usesHub ? { "x-excursor-tools": "hub" } : {});
  };
  const addFiles = async (files: Iterable<File>) => {
    setProblem(undefined);
    const added: string[] = [];
    for (const file of files) {
      if (!/^image\/(?:png|jpeg|gif|webp)$/.test(file.type))
        setProblem(`${file.name} is not a PNG, JPEG, GIF or WebP.`);
      else if (file.size > MAX_IMAGE_BYTES) setProblem(`${file.name} is larger than 5 MiB.`);
      else added.push(await readFile(file));
    }
    changeDraft({ images: [...draft.value.images, ...added].slice(0, MAX_IMAGES) });
  };
  return (
    <>
      <div class="page-head">
        <h1>Playground</h1>
        <div class="actions">
          <CopyButton
            title="Copy as curl"
            isDisabled={copied === undefined}
            text={() => (copied ? curlCommand(location.origin, dialect, copied, usesHub) : "")}
          />
          <button type="button" onClick={clear} disabled={play.turns.length === 0}>
            New conversation
          </button>
        </div>
      </div>
      {modelsError !== undefined && <ErrorNotice error={modelsError} />}
      <div class="play-options">
        <p>
          <label for="play-model">Model</label>
          <input
            id="play-model"
            list="play-models"
            value={model}
            onInput={({ currentTarget }) => changeDraft({ model: currentTarget.value })}
            autocomplete="off"
            spellcheck={false}
          />
          <datalist id="play-models">
            {models?.models.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
        </p>
        <p>
          <label for="play-dialect">API</label>
          <select
            id="play-dialect"
            value={dialectId}
            onChange={({ currentTarget }) => changeDraft({ dialect: currentTarget.value })}
          >
            {DIALECTS.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </p>
        <p class="check">
          <input
            id="play-hub"
            type="checkbox"
            checked={usesHub}
            onChange={({ currentTarget }) => changeDraft({ usesHub: currentTarget.checked })}
          />
          <label for="play-hub">Offer the tools of the MCP servers</label>
        </p>
        <p class="grow">
          <label for="play-system">System prompt</label>
          <input
            id="play-system"
            value={system}
            placeholder="none"
            onInput={({ currentTarget }) => changeDraft({ system: currentTarget.value })}
            autocomplete="off"
          />
        </p>
      </div>
      <div class="play">
        <section class="play-chat" aria-label="Conversation">
          <div class="play-turns" ref={turnsPlace} aria-live="polite">
            {play.turns.length === 0 && <Welcome isDemo={isDemo} onPick={(idea) => changeDraft({ text: idea })} />}
            {play.turns.map(({ asked: one, answer }, index) => (
              <Turn
                key={index}
                asked={one}
                answer={answer}
                isRunning={play.isRunning && index === play.turns.length - 1}
              />
            ))}
            {play.questions.map((one) => (
              <Asked key={one.id} question={one} onReply={(given) => void reply(one, given)} />
            ))}
          </div>
          <form
            class={`composer ${isOver ? "over" : ""}`}
            onSubmit={(event) => {
              event.preventDefault();
              submit();
            }}
            onDragOver={(event) => {
              event.preventDefault();
              setIsOver(true);
            }}
            onDragLeave={() => setIsOver(false)}
            onDrop={(event) => {
              event.preventDefault();
              setIsOver(false);
              void addFiles(event.dataTransfer?.files ?? []);
            }}
          >
            {problem !== undefined && <Notice kind="warn" title={problem} />}
            {images.length > 0 && (
              <div class="thumbs">
                {images.map((image, index) => (
                  <button
                    key={index}
                    type="button"
                    aria-label={`Remove image ${index + 1}`}
                    onClick={() => changeDraft({ images: images.filter((_, one) => one !== index) })}
                  >
                    <img src={image} alt="" />
                  </button>
                ))}
              </div>
            )}
            <textarea
              aria-label="Message"
              rows={3}
              value={text}
              placeholder="Ask something. Enter sends, Shift and Enter starts a line. Drop or paste images."
              onInput={({ currentTarget }) => changeDraft({ text: currentTarget.value })}
              onPaste={(event) => void addFiles(event.clipboardData?.files ?? [])}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
                event.preventDefault();
                submit();
              }}
            />
            <div class="composer-actions">
              <button type="button" class="quiet" onClick={() => picker.current?.click()}>
                Add images
              </button>
              <input
                ref={picker}
                type="file"
                accept="image/png,image/jpeg,image/gif,image/webp"
                multiple
                hidden
                onChange={({ currentTarget }) => {
                  void addFiles([...(currentTarget.files ?? [])]);
                  currentTarget.value = "";
                }}
              />
              {play.isRunning ? (
                <button type="button" class="danger" onClick={stop}>
                  Stop
                </button>
              ) : (
                <button type="submit" class="primary" disabled={text.trim() === ""}>
                  Send
                </button>
              )}
            </div>
          </form>
        </section>
        <RawEvents events={play.events} count={play.eventCount} path={dialect.path(model.trim() || "auto")} />
      </div>
    </>
  );
}

const readFile = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

const IDEAS = ["Explain back-pressure in three sentences.", "Write a function that reverses a list, in Rust."];
const DEMO_IDEAS = [
  "@sim think Let me see what is asked. ;; say **Hello!** This is the simulator.",
  "@sim tokens 400 20",
  "@sim fail resource_exhausted ERROR_RATE_LIMITED Too many requests",
];

const Welcome = ({ isDemo, onPick }: { readonly isDemo: boolean; onPick(text: string): void }) => (
  <div class="welcome">
    <p class="muted">
      {isDemo
        ? "The simulator answers here. It does what a message that begins with @sim tells it:"
        : "Try a model before you connect a client. Requests count as the owner's own."}
    </p>
    {(isDemo ? DEMO_IDEAS : IDEAS).map((idea) => (
      <button key={idea} type="button" onClick={() => onPick(idea)}>
        {idea}
      </button>
    ))}
  </div>
);

interface TurnProps {
  readonly asked: ChatMessage;
  readonly answer: Answer;
  readonly isRunning: boolean;
}

function Turn({ asked, answer, isRunning }: TurnProps) {
  const { text, thinking, tools, notes, error, firstMs, totalMs } = answer;
  return (
    <article class="play-turn">
      <div class="asked">
        {asked.images.length > 0 && (
          <div class="thumbs">
            {asked.images.map((image) => (
              <img key={image} src={image} alt="" />
            ))}
          </div>
        )}
        {asked.text}
      </div>
      {thinking !== "" && (
        <details class="thinking">
          <summary>{isRunning && text === "" ? "Thinking…" : "Thinking"}</summary>
          <p>{thinking}</p>
        </details>
      )}
      {notes.length > 0 && (
        <ul class="notes muted">
          {notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      {text !== "" && <Markdown text={text} />}
      {tools.map((tool) => (
        <p>
          <span class="tag accent">tool call</span> <code>{tool}</code>
        </p>
      ))}
      {error !== undefined && <Notice kind="bad" title={error} />}
      {isRunning && text === "" && thinking === "" && <p class="muted">Waiting for the model…</p>}
      {totalMs !== undefined && (
        <p class="muted small-text">
          {firstMs !== undefined && `first token after ${span(firstMs)}, `}
          {span(totalMs)} in all
        </p>
      )}
    </article>
  );
}

function Asked({ question, onReply }: { readonly question: ToolQuestion; onReply(given: object): void }) {
  const { id, server, message, schema, url } = question;
  return (
    <div class="card asked-user" role="alertdialog" aria-label={`A question of ${server}`}>
      <p>
        <span class="tag warn">{server} asks</span> {message}
      </p>
      {url !== undefined && <p class="mono">{url}</p>}
      <SchemaForm
        id={`question-${id}`}
        schema={schema}
        submit={url === undefined ? "Answer" : "I agree to open it"}
        onSubmit={(content) => onReply({ action: "accept", content })}
      />
      <button type="button" class="quiet" onClick={() => onReply({ action: "decline" })}>
        Decline
      </button>
    </div>
  );
}

interface RawEventsProps {
  readonly events: readonly RawEvent[];
  readonly count: number;
  readonly path: string;
}

function RawEvents({ events, count, path }: RawEventsProps) {
  const place = useTail<HTMLDivElement>(events);
  return (
    <section class="raw" aria-label="Raw events">
      <div class="section-head">
        <h2>Raw events</h2>
        <span class="muted">
          {count > events.length ? `the last ${events.length} of ${whole(count)}` : whole(count)}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
      <div class="raw-list" ref={place} tabIndex={0} role="log" aria-label="Events">
        {events.length === 0 && <p class="muted">POST {path}</p>}
        {events.map(({ name, data }) => (
          <p>
            {name !== "" && <b>{name}</b>} {data}
          </p>
        ))}
      </div>
    </section>
  );
}
