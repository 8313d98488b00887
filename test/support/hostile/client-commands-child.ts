import type { Command } from 'commander'
import { createAnalyzerProgram, runAnalyzerCli } from '../../../src/analyzer/faces/cli/main.ts'
import { createContentProgram, runContentCli } from '../../../src/content/faces/cli/main.ts'
import { createSupervisorProgram, runSupervisorCli } from '../../../src/supervisor/faces/cli/main.ts'
import { createWorkspaceProgram, runWorkspaceCli } from '../../../src/workspace/faces/cli/main.ts'

/**
 * Runs every client command of the four programs in the current folder in sequence, and prints `{argv,
 * status, ms}` for each. A command that exits too late is abandoned.
 */

/** Commands that run a project, serve, or write in place: their caller trusts the folder. */
const NOT_CLIENTS = new Set([
  'supervisor up',
  'supervisor run',
  'supervisor init',
  'supervisor mcp',
  'analyzer start',
  'analyzer restart',
  'analyzer serve',
  'analyzer mcp',
  'workspace mcp',
  'workspace serve',
  'workspace torture',
  'workspace install-service',
  'workspace backup',
  'workspace restore',
  'content-server serve',
])

const LIMIT_MS = 8_000

const PROGRAMS: readonly (readonly [Command, (argv: readonly string[]) => Promise<number>])[] = [
  [createSupervisorProgram(), runSupervisorCli],
  [createAnalyzerProgram(), runAnalyzerCli],
  [createContentProgram(), runContentCli],
  [createWorkspaceProgram(), runWorkspaceCli],
]

function commandsOf(command: Command, path: readonly string[]): readonly (readonly string[])[] {
  if (NOT_CLIENTS.has([command.name(), ...path].join(' '))) return []
  const inner = command.commands.flatMap((child) =>
    NOT_CLIENTS.has([rootName(command), ...path, child.name()].join(' '))
      ? []
      : commandsOf(child, [...path, child.name()]),
  )
  if (inner.length > 0) return inner
  const words = command.registeredArguments
    .filter(({ required }) => required)
    .map((argument) => argument.argChoices?.[0] ?? WORDS[argument.name()] ?? 'x')
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long }) => [long ?? '', 'x'])
  return [[...path, ...words, ...options]]
}

const WORDS: Readonly<Record<string, string>> = { shell: 'bash', port: '80', pid: '1' }

function rootName(command: Command): string {
  return command.parent === null ? command.name() : rootName(command.parent)
}

const print = process.stdout.write.bind(process.stdout)
process.stdout.write = () => true
process.stderr.write = () => true

for (const [program, run] of PROGRAMS) {
  for (const argv of commandsOf(program, [])) {
    const began = performance.now()
    const words = [program.name(), ...argv].join(' ')
    print(`${JSON.stringify({ began: words })}\n`)
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => resolve('late'), LIMIT_MS)
    const status = await Promise.race([run(argv), late])
    clearTimeout(timer)
    print(`${JSON.stringify({ words, status, ms: Math.round(performance.now() - began) })}\n`)
  }
}
process.exit(0)
