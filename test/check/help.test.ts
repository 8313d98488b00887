import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createAnalyzerProgram } from '../../src/analyzer/faces/cli/main.ts'
import { createContentProgram } from '../../src/content/faces/cli/main.ts'
import { createSupervisorProgram } from '../../src/supervisor/faces/cli/main.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'

/** Returns a program's executable commands with their paths; groups of commands have no examples. */
function leaves(command: Command, path: readonly string[]): readonly (readonly [string, Command])[] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  if (children.length === 0) return [[path.join(' '), command]]
  return children.flatMap((child) => leaves(child, [...path, child.name()]))
}

/** Returns the complete help of a command, including its examples. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

describe.each([
  createWorkspaceProgram(),
  createSupervisorProgram(),
  createContentProgram(),
  createAnalyzerProgram(),
])('$_name --help', (program) => {
  const commands = leaves(program, [program.name()])

  test('groups the commands by task', () => {
    const text = program.helpInformation()
    expect(text).not.toMatch(/^Commands:/m)
    expect(text.match(/^[A-Z][a-z ,]+:$/gm)?.length).toBeGreaterThan(3)
  })

  test.each(commands)('%s has an example that names it', (path, command) => {
    const [, examples = ''] = helpOf(command).split(/^Examples?:$/m)
    expect(examples).toContain(path)
  })

  test.each(commands)('%s has an imperative description in lower case without a full stop', (_, command) => {
    expect(command.description()).toMatch(/^[a-z].*[^.]$/)
    expect(command.description().split(' ')[0]).not.toMatch(/(?:[^s]s|ed|ing)$/)
  })
})
