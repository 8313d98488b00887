import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireTemplate } from '../../../api/template.ts'
import { addServerOption, contextOf } from '../context.ts'

/** Adds the command `templates`. */
export function addTemplates(program: Command): void {
  addServerOption(program.command('templates'))
    .addHelpText('after', examples('workspace templates', 'workspace create demo --template web'))
    .description("list the server's templates for new workspaces")
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const answer = await client.get<{ templates: WireTemplate[] }>('/api/templates')
      output.result(answer, () => templatesTable(answer.templates))
    })
}

function templatesTable(templates: readonly WireTemplate[]): string {
  if (templates.length === 0) return 'no templates; define them under "templates" in the configuration'
  const rows = templates.map((each) => [
    each.name,
    each.backend ?? '',
    each.repo ?? each.from_snapshot ?? '',
    each.image ?? '',
    each.cpus === undefined ? '' : String(each.cpus),
    each.memory_mb === undefined ? '' : `${each.memory_mb} MiB`,
    each.description ?? '',
  ])
  return formatTable(['NAME', 'BACKEND', 'SOURCE', 'IMAGE', 'CPUS', 'MEMORY', ''], rows)
}
