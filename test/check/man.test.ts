import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analyzerSchema } from '../../src/analyzer/config.ts'
import { createAnalyzerProgram } from '../../src/analyzer/faces/cli/main.ts'
import { contentSchema } from '../../src/content/config-schema.ts'
import { createContentProgram } from '../../src/content/faces/cli/main.ts'
import { environmentKeys } from '../../src/lib/config/environment.ts'
import { packageRoot } from '../../src/lib/process/package.ts'
import { supervisorSchema } from '../../src/supervisor/config-schema.ts'
import { createSupervisorProgram } from '../../src/supervisor/faces/cli/main.ts'
import { workspaceSchema } from '../../src/workspace/config.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'
import { commandsOf } from '../support/check/reference.ts'
import { makeTempDir } from '../support/temp-dir.ts'

const { path: folder, remove } = makeTempDir()
beforeAll(() => void execFileSync(process.execPath, [join(packageRoot, 'scripts/man.ts'), folder]))
afterAll(remove)

describe.each([
  { program: createWorkspaceProgram(), prefix: 'WORKSPACE', schema: workspaceSchema },
  { program: createSupervisorProgram(), prefix: 'SUPERVISOR', schema: supervisorSchema },
  { program: createContentProgram(), prefix: 'CONTENT', schema: contentSchema },
  { program: createAnalyzerProgram(), prefix: 'ANALYZER', schema: analyzerSchema },
])('the manual page of $program._name', ({ program, prefix, schema }) => {
  test('renders without warnings, with every command, option and setting', () => {
    const page = join(folder, `${program.name()}.1`)
    // Also shows warnings on standard output; wide, so that no line is broken; without bold.
    const argv = ['-c', 'groff -K utf8 -man -Tutf8 -ww -rLL=1000n -P-cbou "$0" 2>&1', page]
    const text = execFileSync('sh', argv, { encoding: 'utf8' })
    expect(text).not.toContain('warning')
    const lines = new Set(text.split('\n').map((line) => line.trim()))
    const [, ...commands] = commandsOf(program, program.name())
    expect(commands.filter(([line]) => !lines.has(line)).map(([line]) => line)).toEqual([])
    const flags = new Set(commands.flatMap(([, each]) => each))
    expect([...flags].filter((flag) => !text.includes(flag))).toEqual([])
    const variables = environmentKeys(prefix, schema).map(({ variable }) => variable)
    expect(variables.filter((variable) => !text.includes(variable))).toEqual([])
  })
})
