import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ShellCommandParsingResult,
  ShellCommandParsingResultSchema,
} from "../../../../gen/agent/v1/shell_command_pb.ts";

type Parsed = MessageInitShape<typeof ShellCommandParsingResultSchema>;
type Word = { readonly type: string; readonly text: string };

/** Words that begin a compound command. */
const KEYWORDS = /^(if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|!|\[\[|\{|\})$/;
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** Quoted pieces, escapes, variables and plain characters of one word. */
const WORD = /(?:'[^']*'|"(?:[^"\\$`]|\\[\s\S]|\$(?![({]))*"|\\[\s\S]|\$\w+|\$\{\w+\}|[^\s'"\\$`;&|<>(){}#*?]|[*?#])+/y;
const REDIRECT = /(\d*)(&>>|&>|>>|>\||>&|<&|<>|>|<)[ \t]*/y;
const OPERATOR = /&&|\|\||\|&|[;|&\n]/y;

/**
 * Parses a shell command, so that the client can apply its own rules to each part. It knows simple commands joined by
 * operators, with quotes, variables and redirections. Everything else (substitutions, subshells, here-documents, loops) is
 * reported as `parsing_failed`: a client then treats the command as one that it cannot judge.
 */
export function parseShell(command: string): ShellCommandParsingResult {
  return create(ShellCommandParsingResultSchema, parse(command) ?? failed(command));
}

const failed = (command: string): Parsed => ({
  parsingFailed: true,
  hasCommandSubstitution: /\$\(|`|[<>]\(/.test(command),
  hasRedirects: /[<>]/.test(command),
});

function parse(command: string): Parsed | undefined {
  const commands: { name: string; args: { type: string; value: string }[]; fullText: string }[] = [];
  const redirects: { operator: string; destinationFds: number[]; targetNodeType: string; targetText?: string }[] = [];
  let words: Word[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(command);
    if (match) at = pattern.lastIndex;
    return match ?? undefined;
  };
  /** False if the words so far are not a simple command. */
  const endCommand = (): boolean => {
    const start = words.findIndex(({ text }) => !ASSIGNMENT.test(text));
    const [name, ...args] = start === -1 ? [] : words.slice(start);
    words = [];
    if (!name || KEYWORDS.test(name.text) || name.type === "simple_expansion") return false;
    const fullText = [name, ...args].map(({ text }) => text).join(" ");
    commands.push({ name: name.text, args: args.map(({ type, text }) => ({ type, value: text })), fullText });
    return true;
  };
  while (true) {
    take(/(?:[ \t]|\\\n)+/y);
    if (at >= command.length) break;
    if (command[at] === "#") {
      take(/[^\n]*/y);
      continue;
    }
    const redirect = take(REDIRECT);
    if (redirect) {
      const [, fd = "", operator = ""] = redirect;
      const target = take(WORD)?.[0];
      if (target === undefined || (operator === "<" && command[at] === "<")) return undefined;
      const fds = operator.startsWith("&>") ? [1, 2] : [fd === "" ? (operator.startsWith("<") ? 0 : 1) : Number(fd)];
      const type = typeOf(target);
      const isStatic = type !== "simple_expansion" && type !== "concatenation";
      const targetText = type === "word" ? target : target.slice(1, -1);
      redirects.push({ operator, destinationFds: fds, targetNodeType: type, ...(isStatic && { targetText }) });
      continue;
    }
    const operator = take(OPERATOR)?.[0];
    if (operator !== undefined) {
      // A line may be empty, and a command may end with an operator; anything else needs a command before it.
      if (words.length === 0 && operator === "\n") continue;
      if (!endCommand()) return undefined;
      continue;
    }
    const word = take(WORD)?.[0];
    // Stopped inside a word: it goes on with something that is not understood.
    if (word === undefined || (at < command.length && /[^\s;&|<>]/.test(command[at] ?? ""))) return undefined;
    // A number directly before a redirection is its file descriptor.
    if (/^\d+$/.test(word) && /[<>]/.test(command[at] ?? "")) {
      at -= word.length;
      if (!new RegExp(REDIRECT.source, "y").test(command.slice(at))) return undefined;
      continue;
    }
    words.push({ type: typeOf(word), text: word });
  }
  if (words.length > 0 && !endCommand()) return undefined;
  if (commands.length === 0) return undefined;
  return {
    executableCommands: commands,
    hasRedirects: redirects.length > 0,
    redirects,
    ...(redirects.length > 0 && {
      allRedirectsAreDevNull: redirects.every(({ targetText }) => targetText === "/dev/null"),
    }),
  };
}

function typeOf(word: string): string {
  if (/^'[^']*'$/.test(word)) return "raw_string";
  if (/^"(?:[^"\\]|\\[\s\S])*"$/.test(word)) return word.includes("$") ? "concatenation" : "string";
  if (/^\$\w+$|^\$\{\w+\}$/.test(word)) return "simple_expansion";
  return /['"$]/.test(word) ? "concatenation" : "word";
}
