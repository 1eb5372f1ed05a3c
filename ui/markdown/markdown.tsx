import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { CopyButton } from "../parts/copy-text.tsx";
import { type Block, parseBlocks } from "./parse-blocks.ts";

/** Longer texts are shown as they are: parsing them for each piece of a stream would block the page. */
const MAX_CHARS = 200_000;

/** Shows a text of a model. It only ever creates elements, so no text becomes HTML (SEC-46). */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => (text.length > MAX_CHARS ? undefined : parseBlocks(text)), [text]);
  if (!blocks) return <pre class="plain">{text}</pre>;
  // Blocks are only ever added at the end.
  return (
    <div class="markdown">
      {blocks.map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.type) {
    case "heading":
      return <p class={`md-heading level-${block.level}`}>{inline(block.text)}</p>;
    case "paragraph":
      return <p>{inline(block.text)}</p>;
    case "code":
      return <Code language={block.language} text={block.text} />;
    case "quote":
      return <blockquote>{inline(block.text)}</blockquote>;
    case "rule":
      return <hr />;
    case "list": {
      const items = block.items.map((item) => <li>{inline(item)}</li>);
      return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="md-table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell) => (
                  <th>{inline(cell)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row) => (
                <tr>
                  {row.map((cell) => (
                    <td class="wrap">{inline(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

const Code = ({ language, text }: { readonly language: string; readonly text: string }) => (
  <figure class="code">
    <figcaption>
      <span class="muted">{language || "text"}</span>
      <CopyButton text={text} label="Copy the code" />
    </figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  </figure>
);

/** Code, strong, emphasis, and links to the web. Everything else is text. */
const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]{1,500})\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>)"'`]{1,2000})/g;

function inline(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, target, address] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) parts.push(<code class="inline">{code}</code>);
    else if (strong !== undefined) parts.push(<strong>{strong}</strong>);
    else if (emphasis !== undefined) parts.push(<em>{emphasis}</em>);
    else parts.push(<WebLink to={target ?? address ?? ""}>{label ?? address}</WebLink>);
  }
  parts.push(text.slice(end));
  return parts;
}

const WebLink = ({ to, children }: { readonly to: string; readonly children: ComponentChildren }) => (
  <a href={to} target="_blank" rel="noreferrer noopener nofollow">
    {children}
  </a>
);
