import type { Command } from 'commander'
import { positiveNumber, wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import type { ClassSummary } from '../../../query/types/class-summary.ts'
import type { showClass } from '../../../query/types/class-show.ts'
import type { dependenciesOf, Dependency } from '../../../query/graph/dependencies.ts'
import type { Hierarchy, HierarchyNode } from '../../../query/types/hierarchy.ts'
import type { Implementations } from '../../../query/types/implementations.ts'
import { addLibrariesOption, addProjectOption, contextOf, pageLine, pathOf } from '../context.ts'

interface ListFlags {
  readonly package?: string
  readonly name?: string
  readonly annotation?: string
  readonly extends?: string
  readonly implements?: string
  readonly interfaces?: boolean
  readonly includeLibraries?: boolean
  readonly page?: number
  readonly size?: number
}

interface ClassListAnswer {
  readonly classes: readonly ClassSummary[]
  readonly totalCount: number
  readonly page: number
  readonly totalPages: number
}

/** Adds the commands classes list, show, stats, implementations, hierarchy and dependencies. */
export function addClasses(program: Command): void {
  const classes = program.command('classes').description('query classes')

  addPageOptions(addLibrariesOption(addProjectOption(classes.command('list'))))
    .description('list classes')
    .addHelpText(
      'after',
      examples('analyzer classes list --package "shop.*" --implements java.lang.Runnable'),
    )
    .option('--package <pattern>', 'in matching packages; * matches any text')
    .option('--name <pattern>', 'with a matching simple name')
    .option('--annotation <fqn>', 'with this annotation')
    .option('--extends <fqn>', 'subclasses of this class')
    .option('--implements <fqn>', 'subtypes of this interface')
    .option('-i, --interfaces', 'only interfaces')
    .action(async (flags: ListFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<ClassListAnswer>('/api/v1/classes', parametersOf(flags))
      output.result(answer, () => `${classTable(answer.classes)}\n\n${pageLine(answer)}`)
    })

  addProjectOption(classes.command('show'))
    .description('show a class with its members')
    .addHelpText('after', examples('analyzer classes show java.util.ArrayList'))
    .argument('<fqn>')
    .option('--synthetic', 'include members that a compiler made')
    .action(async (fqn: string, { synthetic }: { readonly synthetic?: boolean }, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<{ classInfo: ReturnType<typeof showClass> }>(pathOf('classes', fqn), {
        synthetic,
      })
      output.result(answer, () => classText(answer.classInfo))
    })

  addProjectOption(classes.command('stats'))
    .description('count classes, methods and fields')
    .addHelpText('after', examples('analyzer classes stats'))
    .action(async (_flags: unknown, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<Record<string, unknown>>('/api/v1/stats')
      output.result(answer, () =>
        formatRecord(Object.entries(answer).map(([key, value]) => [key, String(value)] as const)),
      )
    })

  addLibrariesOption(addProjectOption(classes.command('implementations')))
    .description('list the classes that extend or implement a type')
    .addHelpText('after', examples('analyzer classes implementations java.util.Comparator -L'))
    .argument('<fqn>')
    .action(async (fqn: string, { includeLibraries }: ListFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<Implementations>(pathOf('implementations', fqn), {
        includeLibraries,
      })
      output.result(answer, () => implementationTable(answer))
    })

  addProjectOption(classes.command('hierarchy'))
    .description('show the supertypes and subtypes of a type')
    .addHelpText('after', examples('analyzer classes hierarchy shop.Order'))
    .argument('<fqn>')
    .action(async (fqn: string, _flags: unknown, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<Hierarchy>(pathOf('hierarchy', fqn))
      output.result(answer, () => hierarchyText(answer.hierarchy))
    })

  addLibrariesOption(addProjectOption(classes.command('dependencies')))
    .description('list the dependencies and dependents of a class')
    .addHelpText('after', examples('analyzer classes dependencies shop.Order'))
    .argument('<fqn>')
    .action(async (fqn: string, { includeLibraries }: ListFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const answer = await get<ReturnType<typeof dependenciesOf>>(pathOf('dependencies', fqn), {
        includeLibraries,
      })
      output.result(answer, () =>
        ['Outgoing', dependencyTable(answer.outgoing), '', 'Incoming', dependencyTable(answer.incoming)].join(
          '\n',
        ),
      )
    })
}

/** Adds the `--page` and `--size` options. */
export function addPageOptions(command: Command): Command {
  return command
    .option('--page <n>', 'page number, from 0', wholeNumber)
    .option('--size <n>', 'page size; default 50', positiveNumber)
}

function parametersOf(flags: ListFlags) {
  return {
    package: flags.package,
    name: flags.name,
    annotation: flags.annotation,
    extends: flags.extends,
    implements: flags.implements,
    interfaces: flags.interfaces,
    includeLibraries: flags.includeLibraries,
    page: flags.page,
    size: flags.size,
  }
}

function classTable(classes: readonly ClassSummary[]): string {
  return formatTable(
    ['Name', 'Type', 'Source', 'Methods', 'Fields'],
    classes.map((each) => [
      each.fqn,
      each.type,
      each.source,
      String(each.methodCount),
      String(each.fieldCount),
    ]),
  )
}

function implementationTable(answer: Implementations): string {
  const rows = [
    ...answer.directImplementations.map((each) => [each.fqn, each.type, 'yes', each.source]),
    ...answer.indirectImplementations.map((each) => [each.fqn, each.type, 'no', each.source]),
  ]
  const counts = `${answer.directImplementations.length} direct, ${answer.indirectImplementations.length} indirect`
  return `${formatTable(['Class', 'Type', 'Direct', 'Source'], rows)}\n\n${answer.totalCount} in all: ${counts}`
}

function dependencyTable(dependencies: readonly Dependency[]): string {
  return formatTable(
    ['Class', 'Type', 'Location', 'Source'],
    dependencies.map((each) => [each.classFqn, each.dependencyType, each.location ?? '-', each.source]),
  )
}

function hierarchyText({ parent, interfaces, children, ...self }: HierarchyNode): string {
  const lines: string[] = []
  const above = (node: HierarchyNode): void => {
    if (node.parent !== null) above(node.parent)
    lines.push(`${node.classFqn}  ${node.source}`)
  }
  if (parent !== null) above(parent)
  lines.push(`${self.classFqn}  ${self.source}`)
  const below = (node: HierarchyNode, indent: string): void => {
    lines.push(`${indent}${node.classFqn}  ${node.source}`)
    for (const child of node.children) below(child, `${indent}  `)
  }
  for (const each of interfaces) lines.push(`  implements ${each.classFqn}  ${each.source}`)
  for (const child of children) below(child, '  ')
  return lines.join('\n')
}

function classText(info: ReturnType<typeof showClass>): string {
  const head = formatRecord([
    ['Class', info.name.fqn],
    ['Type', info.type],
    ['Source', info.source],
    ['Location', info.location],
    ['Visibility', info.visibility],
    ['Superclass', info.superclass ?? '-'],
    ['Interfaces', info.interfaces.join(', ') || '-'],
    ['Annotations', info.annotations.map(({ type }) => `@${type}`).join(', ') || '-'],
  ])
  const members = [
    ...info.fields.map((field) => [field.visibility, field.type, field.name]),
    ...[...info.constructors, ...info.methods].map((method) => [
      method.visibility,
      method.returnType,
      `${method.name}(${method.parameters.map(({ type }) => type).join(', ')})`,
    ]),
  ]
  return `${head}\n\n${formatTable(['Visibility', 'Type', 'Member'], members)}`
}
