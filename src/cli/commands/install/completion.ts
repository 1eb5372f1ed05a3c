import { Argument, Command } from "@commander-js/extra-typings";

export const completionCommand = () =>
  new Command("completion")
    .description("Print a script that completes commands and flags in your shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish", "powershell"] as const))
    .addHelpText(
      "after",
      `
Add one line to the start-up file of your shell:
  bash        ~/.bashrc                   eval "$(excursor completion bash)"
  zsh         ~/.zshrc                    eval "$(excursor completion zsh)"
  fish        config.fish                 excursor completion fish | source
  powershell  $PROFILE                    excursor completion powershell | Out-String | Invoke-Expression`,
    )
    .action(async (shell) => (await import("../../actions/install/completion.ts")).printCompletion(shell));
