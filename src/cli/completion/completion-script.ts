import type { CompletionRow } from "./completion-table.ts";

export type Shell = "bash" | "zsh" | "fish" | "powershell";

type Table = readonly CompletionRow[];

/** Returns the script of a shell. It holds the whole table, so that a completion starts no program. */
export const completionScript = (shell: Shell, table: Table): string => SCRIPTS[shell](table);

/** All names are letters, digits and `-_.:`, so they need no quotes of their own. */
const list = (words: readonly string[]): string => words.join(" ");

const nested = (table: Table): readonly string[] => table.flatMap(({ path }) => (path === "" ? [] : [path]));

const flagValues = (table: Table): readonly (readonly [key: string, words: readonly string[]])[] =>
  table.flatMap(({ path, values }) =>
    Object.entries(values).map(([flag, words]) => [path === "" ? flag : `${path} ${flag}`, words] as const),
  );

/** The common part of bash and zsh: finds the command that was typed, and what can follow it. */
const posixBody = (table: Table): string => `  local command="" known
  for word in "\${typed[@]}"; do
    known="\${command:+$command }$word"
    case "$known" in
      ${nested(table)
        .map((path) => `"${path}"`)
        .join("|")}) command=$known ;;
    esac
  done
  case "\${command:+$command }$previous" in
${flagValues(table)
  .map(([key, words]) => `    "${key}") offered="${list(words)}" ;;\n`)
  .join("")}    *) case "$command" in
${table.map(({ path, words }) => `      "${path}") offered="${list(words)}" ;;\n`).join("")}    esac ;;
  esac
`;

const SCRIPTS: Readonly<Record<Shell, (table: Table) => string>> = {
  bash: (table) => `_excursor() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" word offered=""
  local typed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${posixBody(table)}  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _excursor excursor
`,
  zsh: (table) => `_excursor() {
  local previous="\${words[CURRENT-1]}" word offered=""
  local typed=("\${(@)words[2,CURRENT-1]}")
${posixBody(table)}  compadd -- \${=offered}
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _excursor excursor
`,
  fish: (table) => `function __excursor_offered
  set -l typed (commandline -opc)
  set -l previous $typed[-1]
  set -e typed[1]
  set -l command ""
  for word in $typed
    switch (string trim "$command $word")
      case ${nested(table)
        .map((path) => `"${path}"`)
        .join(" ")}
        set command (string trim "$command $word")
    end
  end
  switch (string trim "$command $previous")
${flagValues(table)
  .map(([key, words]) => `    case "${key}"\n      string split " " "${list(words)}"\n      return\n`)
  .join("")}  end
  switch "$command"
${table.map(({ path, words }) => `    case "${path}"\n      string split " " -- "${list(words)}"\n`).join("")}  end
end
complete -c excursor -f -a "(__excursor_offered)"
`,
  powershell: (table) => `Register-ArgumentCompleter -Native -CommandName excursor -ScriptBlock {
  param($current, $ast, $position)
  $offered = @{
${table.map(({ path, words }) => `    '${path}' = '${list(words)}'\n`).join("")}  }
  $values = @{
${flagValues(table)
  .map(([key, words]) => `    '${key}' = '${list(words)}'\n`)
  .join("")}  }
  $typed = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($current -ne '' -and $typed.Count -gt 0) { $typed = @($typed | Select-Object -SkipLast 1) }
  $command = ''
  foreach ($word in $typed) {
    $known = "$command $word".Trim()
    if ($offered.ContainsKey($known)) { $command = $known }
  }
  $previous = if ($typed.Count -gt 0) { "$command $($typed[-1])".Trim() } else { '' }
  $words = if ($values.ContainsKey($previous)) { $values[$previous] } else { $offered[$command] }
  $words -split ' ' | Where-Object { $_ -like "$current*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};
