import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { Scan } from '../../../scan/scan.ts'
import { addProjectOption, contextOf } from '../context.ts'

interface ProjectView {
  readonly name: string
  readonly path: string
  readonly status: string
  readonly classCount: number
  readonly scannedAt: string | null
}

/** Response of `GET /api/v1/project/diagnostics`. */
type DiagnosticsAnswer = Pick<Scan, 'diagnostics'>

/** Adds the commands project, refresh and diagnostics. */
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

  addProjectOption(program.command('diagnostics'))
    .description('list files that could not be read, with the reason')
    .addHelpText('after', examples('analyzer diagnostics'))
    .action(async (_flags: unknown, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<DiagnosticsAnswer>('/api/v1/project/diagnostics')
      output.result(answer, () => diagnosticsTable(answer))
    })
}

function diagnosticsTable({ diagnostics }: DiagnosticsAnswer): string {
  if (diagnostics.length === 0) return 'all files were read'
  const rows = diagnostics.map(({ path, message, offset }) => [path, String(offset ?? 0), message])
  return formatTable(['Path', 'Offset', 'Message'], rows)
}

function recordOf(project: object): string {
  return formatRecord(Object.entries(project).map(([key, value]) => [key, String(value)] as const))
}
