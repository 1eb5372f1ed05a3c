import { Markdown } from "../markdown/markdown.tsx";
import type { Part, Said } from "./read-messages.ts";

/** Shows messages of a conversation. Texts become elements, never HTML (SEC-46). */
export const SaidList = ({ said, kind }: { readonly said: readonly Said[]; readonly kind?: "added" | "removed" }) => (
  <>
    {said.map((message, index) => (
      <div key={index} class={`said ${kind ?? ""}`}>
        <p class="said-role">
          {kind === "added" ? "+ " : kind === "removed" ? "− " : ""}
          {message.role}
        </p>
        {message.parts.map((part, place) => (
          <PartView key={place} part={part} />
        ))}
      </div>
    ))}
  </>
);

function PartView({ part }: { readonly part: Part }) {
  if (part.type === "text") return <Markdown text={part.text} />;
  if (part.type === "image") return <img class="said-image" src={part.url} alt="Sent with the message" />;
  return (
    <figure class="code">
      <figcaption class="muted">{part.title}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{part.text}</pre>
    </figure>
  );
}
