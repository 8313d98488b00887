import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { addProjectOption, contextOf } from '../context.ts'

interface ProjectView {
  readonly name: string
  readonly path: string
  readonly status: string
  readonly classCount: number
  readonly scannedAt: string | null
}

/** Adds the commands project and refresh. */
export function addProject(program: Command): void {
  addProjectOption(program.command('project'))
    .description('show the project')
    .addHelpText('after', examples('analyzer project --json'))
    .action(async (_flags: unknown, command: Command) => {
      const { get, output } = await contextOf(command)
      const project = await get<ProjectView>('/api/v1/project')
      output.result(project, () => recordOf(project))
    })

  addProjectOption(program.command('refresh'))
    .description('rescan compiled classes that changed')
    .addHelpText('after', examples('mvn compile && analyzer refresh'))
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
