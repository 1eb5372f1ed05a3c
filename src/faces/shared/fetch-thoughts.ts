import type { Thoughts, WantedThought } from "../../core/thinking/thoughts.ts";

/**
 * Reads the thinking of a conversation ahead, with one question for all of it. `read` reads the conversation with the given
 * store; it is called only if the store needs that, and what it returns is not used.
 */
export async function fetchThoughts(
  thoughts: Thoughts,
  principalId: string,
  read: (probe: Thoughts) => void,
): Promise<void> {
  if (!thoughts.fetch) return;
  const wanted: WantedThought[] = [];
  const want = <T>(found: T | undefined, missing: WantedThought): T | undefined => {
    if (found === undefined) wanted.push(missing);
    return found;
  };
  read({
    keep: () => {},
    find: (principal, id) => want(thoughts.find(principal, id), { id }),
    findByText: (principal, text) => want(thoughts.findByText(principal, text), { text }),
  });
  if (wanted.length > 0) await thoughts.fetch(principalId, wanted);
}
