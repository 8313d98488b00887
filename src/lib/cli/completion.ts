import { type Command, InvalidArgumentError, Option } from 'commander'
import { ignore } from '../errors/ignore.ts'
import { examples } from './examples.ts'

/** Values that only the running program knows, such as names of workspaces. */
export interface CompletedValues {
  /** Kind of the value of a command's argument (`start <name>`, also if it is optional) or of an option (`--template`). */
  readonly kinds: Readonly<Record<string, string>>
  /** Returns the values of a kind; `given` are the arguments before, `command` is `completion`. */
  readonly list: (kind: string, given: readonly string[], command: Command) => Promise<readonly string[]>
}

interface Words {
  /** Command path after the program's name, joined by spaces; '' is the program itself. */
  readonly path: string
  readonly commands: readonly string[]
  readonly options: readonly string[]
  /** Its arguments in order; the kind is '' for those that are not completed. */
  readonly kinds: readonly { readonly kind: string; readonly isVariadic: boolean }[]
}

interface Table {
  readonly rows: readonly Words[]
  /** Options that take a value. */
  readonly valued: readonly string[]
  /** Kinds of values by option. */
  readonly optionKinds: Readonly<Record<string, string>>
}

/** Values with other characters are left out, because a shell could expand them. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Adds `completion bash|zsh|fish`, which prints a script for the program's commands, options and values. */
export function addCompletion(program: Command, values?: CompletedValues): void {
  const name = program.name()
  program
    .command('completion')
    .description('print a shell completion script')
    .argument('<shell>', 'bash, zsh or fish', (shell: string) => {
      if (shell in SCRIPTS) return shell
      throw new InvalidArgumentError('It must be bash, zsh or fish.')
    })
    .addOption(new Option('--values <kind...>', 'print the values of a kind, for the script').hideHelp())
    .addHelpText('after', examples(`source <(${name} completion bash)`))
    .action(
      async (
        shell: keyof typeof SCRIPTS,
        options: { readonly values?: readonly string[] },
        command: Command,
      ) => {
        if (options.values === undefined) {
          process.stdout.write(SCRIPTS[shell](name, tableOf(program, values?.kinds ?? {})))
          return
        }
        const [kind = '', ...given] = options.values
        const found =
          (await values
            ?.list(kind, given, command)
            .catch(
              ignore('an error would be printed into the line that is being edited', [] as readonly string[]),
            )) ?? []
        process.stdout.write(
          found
            .filter((value) => PLAIN.test(value))
            .map((value) => `${value}\n`)
            .join(''),
        )
      },
    )
}

function tableOf(program: Command, kinds: Readonly<Record<string, string>>): Table {
  const rows = wordsOf(program, [], kinds)
  const options = allCommands(program).flatMap((command) => command.options)
  const valued = options.filter(({ required, optional }) => required || optional)
  return {
    rows,
    valued: [
      ...new Set(valued.flatMap(({ short, long }) => [short, long]).filter((each) => each !== undefined)),
    ],
    optionKinds: Object.fromEntries(Object.entries(kinds).filter(([key]) => key.startsWith('-'))),
  }
}

function allCommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allCommands)]
}

function wordsOf(
  command: Command,
  path: readonly string[],
  kinds: Readonly<Record<string, string>>,
): readonly Words[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = help.visibleOptions(command).flatMap((option) => option.long ?? [])
  return [
    {
      path: path.join(' '),
      commands: commands.map((child) => child.name()),
      options,
      kinds: command.registeredArguments.map((argument) => ({
        kind: kinds[`${pathOf(command)} <${argument.name()}>`] ?? '',
        isVariadic: argument.variadic,
      })),
    },
    ...commands
      .filter((child) => child.name() !== 'help')
      .flatMap((child) =>
        [child.name(), ...child.aliases()].flatMap((name) => wordsOf(child, [...path, name], kinds)),
      ),
  ]
}

/** Returns a command's path after the program's name, without aliases. */
function pathOf(command: Command): string {
  const { parent } = command
  if (parent === null) return ''
  const above = pathOf(parent)
  return above === '' ? command.name() : `${above} ${command.name()}`
}

/** Returns a line for each argument with a kind; a variadic one has no position. */
function argumentKinds(
  { rows }: Table,
  line: (path: string, position: number | undefined, kind: string) => string,
): readonly string[] {
  return rows.flatMap(({ path, kinds }) =>
    kinds.flatMap(({ kind, isVariadic }, at) =>
      kind === '' ? [] : [line(path, isVariadic ? undefined : at, kind)],
    ),
  )
}

/** Lines of a `case` statement that sets the kind of an argument. */
function argumentCases(table: Table): string {
  const cases = argumentKinds(table, (path, at, kind) => `      "${path}:"${at ?? '*'}) kind=${kind} ;;`)
  return [...cases, '      *) ;;'].join('\n')
}

/**
 * Body of a function in bash and zsh, for the words in `before` and the word `$cur`: finds the current command
 * with its arguments `given`, and sets the words `offered` and the `kind` of values to ask for.
 */
function shellBody(table: Table, before: string): string {
  return `  for word in ${before}; do
    if [ -n "$option" ]; then option=""; continue; fi
    case "$word" in
      ${table.valued.join('|')}) option=$word; continue ;;
      -*) continue ;;
    esac
    case "\${at:+$at }$word" in
      ${quotedPaths(table.rows, '|')}) at="\${at:+$at }$word" ;;
      *) given+=("$word") ;;
    esac
  done
  if [ -n "$option" ]; then
    case "$option" in
${optionCases(table)}
    esac
  else
    case "$at:\${cur:0:1}" in
${wordCases(table)}
    esac
    case "$at:\${#given[@]}" in
${argumentCases(table)}
    esac
  fi
  case "$cur" in -*) kind="" ;; esac`
}

/** Completion scripts by shell. */
const SCRIPTS = {
  bash: (name: string, table: Table) => `_${shellName(name)}() {
  local at="" cur="\${COMP_WORDS[COMP_CWORD]}" kind="" offered="" option="" word
  local -a given=()
${shellBody(table, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
  [ -n "$kind" ] || return
  while IFS= read -r word; do
    case "$word" in "$cur"*) COMPREPLY+=("$word") ;; esac
  done < <(command ${name} completion bash --values "$kind" "\${given[@]}" 2>/dev/null)
}
complete -o default -F _${shellName(name)} ${name}
`,
  zsh: (name: string, table: Table) => `#compdef ${name}
_${shellName(name)}() {
  local at="" cur="\${words[CURRENT]}" kind="" offered="" option="" word
  local -a given
${shellBody(table, '${words[2,CURRENT-1]}')}
  [ -z "$kind" ] || offered+=" $(command ${name} completion zsh --values "$kind" "\${given[@]}" 2>/dev/null)"
  compadd -- \${=offered}
}
compdef _${shellName(name)} ${name}
`,
  fish: (name: string, table: Table) => `function __fish_${shellName(name)}_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at
  set -l given
  set -l option
  for word in $words
    if test -n "$option"
      set option
    else if contains -- $word ${table.valued.join(' ')}
      set option $word
    else if string match -q -- '-*' $word
      continue
    else if contains -- (string join ' ' $at $word) ${quotedPaths(table.rows, ' ')}
      set at $at $word
    else
      set -a given $word
    end
  end
  if test -n "$option"
    test "$option" = "$argv[1]"
  else
    set -g __fish_${shellName(name)}_given $given
    contains -- "$argv[1]" "$at" "$at:"(count $given)
  end
end
function __fish_${shellName(name)}_values
  command ${name} completion fish --values $argv[1] $__fish_${shellName(name)}_given 2>/dev/null
end
${table.rows
  .flatMap(({ path, commands, options }) => [
    fishLine(name, path, `"${commands.join(' ')}"`),
    fishLine(name, path, `"${options.join(' ')}"`, "string match -q -- '-*' (commandline -ct)"),
  ])
  .concat(
    argumentKinds(table, (path, at, kind) =>
      fishLine(name, at === undefined ? path : `${path}:${at}`, fishValues(name, kind)),
    ),
  )
  .concat(
    Object.entries(table.optionKinds).map(([option, kind]) => fishLine(name, option, fishValues(name, kind))),
  )
  .join('\n')}
`,
} as const

/** Lines of a `case` statement that selects the options of a command after a hyphen, else the subcommands. */
function wordCases({ rows }: Table): string {
  return rows
    .flatMap(({ path, commands, options }) => [
      `      "${path}:-") offered="${options.join(' ')}" ;;`,
      `      "${path}:"*) offered="${commands.join(' ')}" ;;`,
    ])
    .join('\n')
}

function optionCases({ optionKinds }: Table): string {
  const cases = Object.entries(optionKinds).map(([option, kind]) => `      ${option}) kind=${kind} ;;`)
  return [...cases, '      *) ;;'].join('\n')
}

function fishLine(name: string, where: string, words: string, and = ''): string {
  const condition = `__fish_${shellName(name)}_at "${where}"${and === '' ? '' : `; and ${and}`}`
  return `complete -c ${name} -f -n "${condition.replaceAll('"', String.raw`\"`)}" -a ${words}`
}

function fishValues(name: string, kind: string): string {
  return `'(__fish_${shellName(name)}_values ${kind})'`
}

function quotedPaths(table: readonly Words[], separator: string): string {
  return table.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`])).join(separator)
}

function shellName(name: string): string {
  return name.replaceAll('-', '_')
}
