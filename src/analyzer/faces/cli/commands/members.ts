import { USAGE_SCOPES } from '../../../choices.ts'
import { type Command, Option } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
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

/** Adds the commands annotations usages and methods search. */
export function addMembers(program: Command): void {
  const annotations = program.command('annotations').description('query annotations')
  addPageOptions(addLibrariesOption(addProjectOption(annotations.command('usages'))))
    .description('find uses of an annotation, directly or as a meta-annotation')
    .addHelpText('after', examples('analyzer annotations usages java.lang.Deprecated --scope method'))
    .argument('<annotation-fqn>')
    .addOption(
      new Option('--scope <scope>', 'what the annotation is on').choices(USAGE_SCOPES).default('all'),
    )
    .option('--direct', 'omit uses as a meta-annotation')
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

  const methods = program.command('methods').description('query methods')
  addPageOptions(addLibrariesOption(addProjectOption(methods.command('search'))))
    .description('find methods')
    .addHelpText('after', examples('analyzer methods search --name "find*" --return-type java.util.Optional'))
    .option('-n, --name <pattern>', 'with a matching name; * matches any text')
    .option('-r, --return-type <type>', 'with this erased return type')
    .option('-a, --annotation <fqn>', 'with this annotation')
    .option('-c, --class <pattern>', 'in classes with a matching name')
    .option('--package <pattern>', 'in matching packages')
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
