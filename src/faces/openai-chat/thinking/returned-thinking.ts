import { ThinkSplitter } from "../../../core/thinking/think-splitter.ts";
import type { ThinkingStyle, Thoughts } from "../../../core/thinking/thoughts.ts";
import type { AssistantPart } from "../../../core/turn.ts";

/** What is needed to read an answer that a client sends back. */
export interface ReturnContext {
  readonly style: ThinkingStyle;
  readonly thoughts: Thoughts;
  readonly principalId: string;
}

/** Matches blocks that we wrote, in any style. */
const OURS = /```plaintext:thinkId:|<!--thinkId:|<!--thinking-start:/;
const MARKER = /(?:```plaintext:thinkId:([\w.]{1,128})```|<!--thinkId:([\w.]{1,128})-->)\n*/g;
const OPENER = /<think(?:ing)?>|<!--thinking-start:[0-9a-f]{8}-->/;
const CLOSERS = ["</think>", "</thinking>"];
const NONCE_CLOSER = /<!--thinking-end:[0-9a-f]{8}-->$/;

/**
 * Reads the text of an answer that a client sends back. Thinking blocks are cut out, damaged ones too. Known ones are
 * replaced by the original; unknown ones are dropped, since they have no signature.
 */
export function readReturnedText(text: string, context: ReturnContext): readonly AssistantPart[] {
  if (!mayHoldThinking(text, context.style)) return textParts(text);
  const parts: AssistantPart[] = [];
  let block: string | undefined;
  let isOpen = false;
  const endBlock = () => {
    if (block !== undefined) parts.push(...thoughtByText(block, context));
    block = undefined;
  };
  const splitter = new ThinkSplitter();
  const told = splitter.push(text);
  const rest = splitter.end();
  for (const part of [...told, ...rest]) {
    switch (part.type) {
      case "thinking":
        if (!isOpen) endBlock();
        block = (block ?? "") + part.text;
        isOpen = true;
        break;
      case "thinking-done":
        isOpen = false;
        break;
      case "think-id":
        block = undefined;
        parts.push(...thoughtById(part.id, context));
        break;
      case "text":
        endBlock();
        parts.push(...withoutMarkers(part.text, context));
        break;
      default:
        part satisfies never;
    }
  }
  // The splitter closes an open block only at its end, so `rest` tells whether the last block was closed.
  if (block !== undefined && rest.length > 0) parts.push(...unclosed(block, context));
  else endBlock();
  return parts;
}

/** Reads a block without its closing tag. If it still has its marker, the text after the marker is the answer. */
function unclosed(block: string, context: ReturnContext): readonly AssistantPart[] {
  const [marker, plainId, commentId] = block.match(new RegExp(MARKER.source)) ?? [];
  if (marker === undefined) return thoughtByText(block, context);
  const behind = block.slice(block.indexOf(marker) + marker.length);
  return [...thoughtById(plainId ?? commentId ?? "", context), ...withoutMarkers(behind, context)];
}

/** Reads thinking from its own field: the original if it is known, else without a signature. */
export function readReturnedField(text: string, { thoughts, principalId }: ReturnContext): AssistantPart {
  return { type: "thinking", ...(thoughts.findByText(principalId, text) ?? { text, signature: undefined }) };
}

/** A style without tags has nothing to cut out, unless the conversation began in another style. */
const mayHoldThinking = (text: string, style: ThinkingStyle): boolean =>
  style === "tags" || style === "tags-nonce" ? /[<`]/.test(text) : OURS.test(text);

/**
 * Replaces markers outside of blocks: the block lost its opening tag, stands within a line, or was closed by the
 * model's own text. An unknown marker stays text.
 */
function withoutMarkers(text: string, context: ReturnContext): readonly AssistantPart[] {
  const parts: AssistantPart[] = [];
  let from = 0;
  for (const { 0: marker, 1: plainId, 2: commentId, index } of text.matchAll(MARKER)) {
    const before = text.slice(from, index);
    const thought = thoughtById(plainId ?? commentId ?? "", context);
    const isBehindTail = isTail(before.trimEnd());
    if (thought.length === 0 && !isBehindTail) continue;
    parts.push(...textParts(isBehindTail ? beforeOpener(before) : before), ...thought);
    from = index + marker.length;
  }
  parts.push(...textParts(text.slice(from)));
  return parts;
}

/** Returns the text before a block. Empty if the opening tag is lost. */
const beforeOpener = (text: string): string => text.slice(0, Math.max(0, text.search(OPENER)));

const isTail = (text: string): boolean => CLOSERS.some((closer) => text.endsWith(closer)) || NONCE_CLOSER.test(text);

function thoughtById(id: string, { thoughts, principalId }: ReturnContext): readonly AssistantPart[] {
  const thought = thoughts.find(principalId, id);
  return thought ? [{ type: "thinking", ...thought }] : [];
}

function thoughtByText(text: string, { thoughts, principalId }: ReturnContext): readonly AssistantPart[] {
  const thought = thoughts.findByText(principalId, text);
  return thought ? [{ type: "thinking", ...thought }] : [];
}

const textParts = (text: string): readonly AssistantPart[] => (text === "" ? [] : [{ type: "text", text }]);
