import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { completedValues as supervisorValues } from '../../src/supervisor/faces/cli/completed-values.ts'
import { createSupervisorProgram } from '../../src/supervisor/faces/cli/main.ts'
import { completedValues as workspaceValues } from '../../src/workspace/faces/cli/completed-values.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'

/** Returns the arguments and options of a command and its subcommands, as completions name them. */
function names(command: Command, path: readonly string[]): readonly string[] {
  return [
    ...command.registeredArguments.map((argument) => `${path.join(' ')} <${argument.name()}>`),
    ...command.options.flatMap(({ short, long }) => [short, long]).filter((name) => name !== undefined),
    ...command.commands.flatMap((child) => names(child, [...path, child.name()])),
  ]
}

test.each([
  ['workspace', createWorkspaceProgram(), workspaceValues],
  ['supervisor', createSupervisorProgram(), supervisorValues],
])('%s completes only arguments and options that exist', (_, program, { kinds }) => {
  const known = new Set(names(program, []))
  expect(Object.keys(kinds).filter((name) => !known.has(name))).toEqual([])
})
