import { useState } from "preact/hooks";
import type { PromptReply, PromptRow } from "../../src/dashboard/messages.ts";
import { now } from "../feed.ts";
import { post } from "../session.ts";
import { ErrorNotice } from "./notice.tsx";
import { useLoaded } from "./use-loaded.ts";

/** The questions of agents that wait for the owner. */
export const Prompts = () => (
  <>
    {now.value?.prompts.map((prompt) => (
      <Prompt key={prompt.id} {...prompt} />
    ))}
  </>
);

function Prompt({ id, from }: PromptRow) {
  const { value, error } = useLoaded<PromptReply>(`/prompts/${id}`);
  const [failure, setFailure] = useState<unknown>();
  const [isAnswered, setIsAnswered] = useState(false);
  const answer = (option: string | null) => {
    setIsAnswered(true);
    post(`/prompts/${id}`, { option }).catch((thrown) => {
      setFailure(thrown);
      setIsAnswered(false);
    });
  };
  return (
    <div class="card asked-user" role="alertdialog" aria-label={`A question of ${from}`}>
      <p>
        <span class="tag warn">{from} asks</span> {value?.title} {value?.kind && <code>{value.kind}</code>}
      </p>
      {value && value.detail !== "" && <pre class="plain prompt-detail">{value.detail}</pre>}
      {value?.isCut && <p class="bad-text">The rest is too long to be shown.</p>}
      {error !== undefined && <ErrorNotice error={error} />}
      {failure !== undefined && <ErrorNotice error={failure} />}
      <div class="actions">
        {value?.options.map((option) => (
          <button
            key={option.id}
            type="button"
            class={option.isAllowed ? "" : "danger"}
            disabled={isAnswered}
            onClick={() => answer(option.id)}
          >
            {option.name}
          </button>
        ))}
        {value?.options.every(({ isAllowed }) => isAllowed) && (
          <button type="button" class="danger" disabled={isAnswered} onClick={() => answer(null)}>
            Decline
          </button>
        )}
      </div>
    </div>
  );
}
