import { type Command, InvalidArgumentError } from 'commander'
import { examples } from './examples.ts'

interface Words {
  /** Command path after the program's name, joined by spaces; '' is the program itself. */
  readonly path: string
  readonly words: readonly string[]
}

/** Adds `completion bash|zsh|fish`, which prints a script for the program's commands and options. */
export function addCompletion(program: Command): void {
  const name = program.name()
  program
    .command('completion')
    .description('print a shell completion script')
    .argument('<shell>', 'bash, zsh or fish', (shell: string) => {
      if (shell in SCRIPTS) return shell
      throw new InvalidArgumentError('It must be bash, zsh or fish.')
    })
    .addHelpText('after', examples(`source <(${name} completion bash)`))
    .action((shell: keyof typeof SCRIPTS) => {
      process.stdout.write(SCRIPTS[shell](name, wordsOf(program, [])))
    })
}

function wordsOf(command: Command, path: readonly string[]): readonly Words[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = help.visibleOptions(command).flatMap((option) => option.long ?? [])
  return [
    { path: path.join(' '), words: [...commands.map((child) => child.name()), ...options] },
    ...commands
      .filter((child) => child.name() !== 'help')
      .flatMap((child) =>
        [child.name(), ...child.aliases()].flatMap((name) => wordsOf(child, [...path, name])),
      ),
  ]
}

/** Completion scripts by shell. Each first finds the current command; words that are not commands, such as names, are skipped. */
const SCRIPTS = {
  bash: (name: string, table: readonly Words[]) => `_${shellName(name)}() {
  local at="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in
      ${quotedPaths(table, '|')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${table.map(({ path, words }) => `    "${path}") words="${words.join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${shellName(name)} ${name}
`,
  zsh: (name: string, table: readonly Words[]) => `#compdef ${name}
_${shellName(name)}() {
  local at="" word
  local -a wordlist
  for word in \${words[2,CURRENT-1]}; do
    case "\${at:+$at }$word" in
      ${quotedPaths(table, '|')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${table.map(({ path, words }) => `    "${path}") wordlist=(${words.join(' ')}) ;;`).join('\n')}
  esac
  compadd -- $wordlist
}
compdef _${shellName(name)} ${name}
`,
  fish: (name: string, table: readonly Words[]) => `function __fish_${shellName(name)}_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at
  for word in $words
    if contains -- (string join ' ' $at $word) ${quotedPaths(table, ' ')}
      set at $at $word
    end
  end
  test (string join ' ' $at) = "$argv[1]"
end
${table
  .map(({ path, words }) => {
    const condition = `__fish_${shellName(name)}_at "${path}"`
    return `complete -c ${name} -f -n '${condition}' -a "${words.join(' ')}"`
  })
  .join('\n')}
`,
} as const

function quotedPaths(table: readonly Words[], separator: string): string {
  return table.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`])).join(separator)
}

function shellName(name: string): string {
  return name.replaceAll('-', '_')
}
