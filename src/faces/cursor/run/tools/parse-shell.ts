import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ShellCommandParsingResult,
  ShellCommandParsingResultSchema,
} from "../../../../gen/agent/v1/shell_command_pb.ts";

type Parsed = MessageInitShape<typeof ShellCommandParsingResultSchema>;
type Token = Readonly<Partial<Record<"fd" | "redirect" | "operator" | "plain" | "quoted", string>>>;

/** Words that begin a compound command, in any shell. */
const KEYWORDS =
  /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|begin|end|and|or|not|switch)$/;
/** No person reads a longer one. */
const MAX_LENGTH = 64 * 1024;
/** A word ends where a blank, an operator or a redirection follows. */
const TOKEN =
  /[ \t]*(?:(?<fd>\d?)(?<redirect>&>>|&>|>>|>&|>|<)[ \t]*|(?<operator>&&|\|\||\|&|[;|&\n])|(?:(?<plain>[\w./:-]+)|'(?<quoted>[^'\\]*)')(?=[ \t\n;&|<>]|$))/y;

/**
 * Parses a shell command, so that the client can apply its own rules to each part. It knows what every shell reads alike:
 * words of plain characters or in single quotes, operators and redirections. Everything else is reported as
 * `parsing_failed`: a client then treats the command as one that it cannot judge.
 */
export function parseShell(command: string): ShellCommandParsingResult {
  return create(
    ShellCommandParsingResultSchema,
    parse(command.length > MAX_LENGTH ? [] : tokensOf(command.trim())) ?? failed(command),
  );
}

const failed = (command: string): Parsed => ({
  parsingFailed: true,
  hasCommandSubstitution: /\$\(|`|[<>]\(/.test(command),
  hasRedirects: /[<>]/.test(command),
});

/** Returns undefined if something is no token. */
function tokensOf(command: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < command.length; at = TOKEN.lastIndex) {
    const groups = TOKEN.exec(command)?.groups;
    if (!groups) return undefined;
    tokens.push(groups);
  }
  return tokens;
}

function parse(tokens: readonly Token[] = []): Parsed | undefined {
  const commands: { name: string; args: { type: string; value: string }[]; fullText: string }[] = [];
  const redirects: { operator: string; destinationFds: number[]; targetNodeType: string; targetText: string }[] = [];
  let words: Token[] = [];
  /** False if the words so far are not a simple command. */
  const endCommand = (): boolean => {
    const [name, ...args] = words;
    if (!name?.plain || KEYWORDS.test(name.plain)) return false;
    const fullText = words.map(textOf).join(" ");
    commands.push({
      name: name.plain,
      args: args.map((word) => ({ type: typeOf(word), value: textOf(word) })),
      fullText,
    });
    words = [];
    return true;
  };
  for (let at = 0; at < tokens.length; at++) {
    const { fd = "", redirect, operator } = tokens[at] ?? {};
    if (redirect !== undefined) {
      const target = tokens[++at];
      const targetText = target?.plain ?? target?.quoted;
      if (!target || targetText === undefined) return undefined;
      const fds = redirect.startsWith("&>") ? [1, 2] : [fd === "" ? (redirect === "<" ? 0 : 1) : Number(fd)];
      redirects.push({ operator: redirect, destinationFds: fds, targetNodeType: typeOf(target), targetText });
    } else if (operator === undefined) words.push(tokens[at] ?? {});
    // A line may be empty, and a command may end with an operator; anything else needs a command before it.
    else if ((words.length > 0 || operator !== "\n") && !endCommand()) return undefined;
  }
  if ((words.length > 0 && !endCommand()) || commands.length === 0) return undefined;
  return {
    executableCommands: commands,
    hasRedirects: redirects.length > 0,
    redirects,
    ...(redirects.length > 0 && {
      allRedirectsAreDevNull: redirects.every(({ targetText }) => targetText === "/dev/null"),
    }),
  };
}

const typeOf = ({ plain }: Token): string => (plain === undefined ? "raw_string" : "word");

const textOf = ({ plain, quoted }: Token): string => plain ?? `'${quoted}'`;
