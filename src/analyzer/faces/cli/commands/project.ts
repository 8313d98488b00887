import type { Command } from 'commander'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { addProjectOption, contextOf } from '../context.ts'

interface ProjectView {
  readonly name: string
  readonly path: string
  readonly status: string
  readonly classCount: number
  readonly scannedAt: string | null
}

/** project, refresh. */
export function addProject(program: Command): void {
  addProjectOption(program.command('project'))
    .description('show the project')
    .action(async (_flags: unknown, command: Command) => {
      const { get, output } = await contextOf(command)
      const project = await get<ProjectView>('/api/v1/project')
      output.result(project, () => recordOf(project))
    })

  addProjectOption(program.command('refresh'))
    .description('read again what has changed in the compiled classes')
    .action(async (_flags: unknown, command: Command) => {
      const { post, output } = await contextOf(command)
      const project = await post<ProjectView & { scanDurationMs: number; classFilesRead: number }>(
        '/api/v1/project/refresh',
      )
      output.result(project, () => recordOf(project))
    })
}

function recordOf(project: object): string {
  return formatRecord(Object.entries(project).map(([key, value]) => [key, String(value)] as const))
}
