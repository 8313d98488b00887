import { USAGE_SCOPES } from '../../../choices.ts'
import { type Command, Option } from 'commander'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { annotationUsages } from '../../../query/annotations/annotation-usages.ts'
import { attributesText } from '../annotation-text.ts'
import type { searchMethods } from '../../../query/types/methods-search.ts'
import { addLibrariesOption, addProjectOption, contextOf, pageLine, pathOf } from '../context.ts'
import { addPageOptions } from './classes.ts'

interface UsageFlags {
  readonly scope?: string
  readonly direct?: boolean
  readonly includeLibraries?: boolean
  readonly page?: number
  readonly size?: number
}

interface MethodFlags {
  readonly name?: string
  readonly returnType?: string
  readonly annotation?: string
  readonly class?: string
  readonly package?: string
  readonly includeLibraries?: boolean
  readonly page?: number
  readonly size?: number
}

/** annotations usages, methods search. */
export function addMembers(program: Command): void {
  const annotations = program.command('annotations').description('ask about annotations')
  addPageOptions(addLibrariesOption(addProjectOption(annotations.command('usages'))))
    .description('where an annotation stands, or one that carries it')
    .argument('<annotation-fqn>')
    .addOption(new Option('--scope <scope>', 'on what it stands').choices(USAGE_SCOPES).default('all'))
    .option('--direct', 'leave out annotations that only carry the one asked for')
    .action(async (fqn: string, flags: UsageFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { scope, direct, includeLibraries, page, size } = flags
      const parameters = { scope, direct, includeLibraries, page, size }
      const answer = await get<ReturnType<typeof annotationUsages>>(
        pathOf('annotations/usages', fqn),
        parameters,
      )
      output.result(answer, () => usageTable(answer))
    })

  const methods = program.command('methods').description('ask about methods')
  addPageOptions(addLibrariesOption(addProjectOption(methods.command('search'))))
    .description('find methods')
    .option('-n, --name <pattern>', 'whose name fits; * stands for any text')
    .option('-r, --return-type <type>', 'with this erased return type')
    .option('-a, --annotation <fqn>', 'that carry this annotation')
    .option('-c, --class <pattern>', 'in classes whose name fits')
    .option('--package <pattern>', 'in packages that fit')
    .action(async (flags: MethodFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { name, returnType, annotation, includeLibraries, page, size } = flags
      const renamed = { inClass: flags.class, inPackage: flags.package }
      const parameters = { name, returnType, annotation, ...renamed, includeLibraries, page, size }
      const answer = await get<ReturnType<typeof searchMethods>>('/api/v1/methods', parameters)
      output.result(answer, () => methodTable(answer))
    })
}

function usageTable(answer: ReturnType<typeof annotationUsages>): string {
  const rows = answer.usages.map((usage) => [
    usage.target,
    usage.classFqn,
    usage.field ?? usage.method ?? '-',
    usage.through === null ? '-' : `@${usage.through}`,
    attributesText(usage.annotation),
  ])
  return `${formatTable(['Target', 'Class', 'Member', 'Through', 'Attributes'], rows)}\n\n${pageLine(answer)}`
}

function methodTable(answer: ReturnType<typeof searchMethods>): string {
  const rows = answer.methods.map(({ classFqn, classSource, method }) => [
    classFqn,
    method.name,
    method.returnType,
    method.parameters.map(({ type }) => type).join(', '),
    classSource,
  ])
  return `${formatTable(['Class', 'Method', 'Returns', 'Parameters', 'Source'], rows)}\n\n${pageLine(answer)}`
}
