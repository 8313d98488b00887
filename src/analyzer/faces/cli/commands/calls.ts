import type { Command } from 'commander'
import { positiveNumber, wordOption } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { omittedCalls } from '../../../api/omitted-calls.ts'
import type { callersOf } from '../../../query/calls/callers.ts'
import type { callsOf } from '../../../query/calls/calls.ts'
import type { pathOf as findPaths } from '../../../query/paths/path.ts'
import type { xrefOf } from '../../../query/calls/xref.ts'
import { REFERENCE_KINDS } from '../../../choices.ts'
import { fault } from '../../../errors.ts'
import { addLibrariesOption, addProjectOption, contextOf, pageLine, pathOf } from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'
import { addPageOptions } from './classes.ts'

interface CallFlags {
  readonly method?: string
  readonly descriptor?: string
  readonly inMethodsReturning?: string
  readonly inMethodsAnnotated?: string
  readonly includeLambdas?: boolean
  readonly synthetic?: boolean
}

interface XrefFlags {
  readonly kind?: string
  readonly scopeImplementing?: string
  readonly synthetic?: boolean
  readonly declared?: boolean
  readonly includeLibraries?: boolean
  readonly page?: number
  readonly size?: number
}

interface CallerFlags {
  readonly descriptor?: string
  readonly includeLibraries?: boolean
  readonly includeSubtypes?: boolean
  readonly synthetic?: boolean
  readonly page?: number
  readonly size?: number
}

interface PathFlags {
  readonly limit?: number
  readonly maxDepth?: number
  readonly includeLibraries?: boolean
}

/** Adds the commands calls, callers, path and xref. */
export function addCalls(program: Command): void {
  addProjectOption(program.command('calls'))
    .description('list the call sites in a class')
    .addHelpText('after', examples('analyzer calls shop.OrderService --method save'))
    .argument('<fqn>')
    .option('-m, --method <name>', 'only in methods with this name')
    .option('--descriptor <descriptor>', 'only in the overload with this JVM descriptor; with --method')
    .option('--in-methods-returning <type>', 'only in methods with this erased return type')
    .option('--in-methods-annotated <fqn>', 'only in methods with this annotation')
    .option(
      '--include-lambdas',
      'include method references, and calls in lambdas also with a filter of methods',
    )
    .option('--synthetic', 'list compiler-made methods instead of counting their calls for others')
    .action(async (fqn: string, flags: CallFlags, command: Command) => {
      const { method, descriptor, inMethodsReturning, inMethodsAnnotated, includeLambdas, synthetic } = flags
      if (descriptor !== undefined && method === undefined) {
        throw fault('BAD_REQUEST', '--descriptor selects an overload and requires --method')
      }
      const { get, output } = await contextOf(command)
      const filter = { inMethodsReturning, inMethodsAnnotated, includeLambdas, synthetic }
      const parameters = { method, descriptor, ...filter }
      const answer = await get<ReturnType<typeof callsOf>>(pathOf('calls', fqn), parameters)
      output.result(answer, () => callTable(answer))
    })

  addPageOptions(addLibrariesOption(addProjectOption(program.command('callers'))))
    .description('find callers of a method, including method references and lambdas')
    .addHelpText('after', examples('analyzer callers java.util.List#add --include-subtypes'))
    .argument('<owner#method>')
    .option('--descriptor <descriptor>', 'only calls to the overload with this JVM descriptor')
    .option('--include-subtypes', 'include calls on subtypes of the owner')
    .option('--synthetic', 'list compiler-made callers instead of the methods they belong to')
    .action(async (member: string, flags: CallerFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { descriptor, includeLibraries, includeSubtypes, synthetic, page, size } = flags
      const parameters = { descriptor, includeLibraries, includeSubtypes, synthetic, page, size }
      const answer = await get<ReturnType<typeof callersOf>>(pathOf('callers', member), parameters)
      output.result(answer, () => callerTable(answer))
    })

  addLibrariesOption(addProjectOption(program.command('path')))
    .description('find the shortest paths of calls from a class or method to another')
    .addHelpText('after', examples('analyzer path shop.OrderPage#main shop.Item#price --limit 1'))
    .argument('<from>')
    .argument('<to>')
    .option('--limit <n>', 'maximum number of paths, at most 100; default 5', positiveNumber)
    .option('--max-depth <n>', 'maximum number of calls in a path, at most 100; default 20', positiveNumber)
    .action(async (from: string, to: string, flags: PathFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { limit, maxDepth, includeLibraries } = flags
      const parameters = { from, to, limit, maxDepth, includeLibraries }
      const answer = await get<Awaited<ReturnType<typeof findPaths>>>(
        '/api/v1/path',
        parameters,
        SOURCE_ANSWER_MS,
      )
      output.result(answer, () => pathTable(answer))
    })

  addPageOptions(addLibrariesOption(addProjectOption(program.command('xref'))))
    .description('find references to a type')
    .addHelpText('after', examples('analyzer xref shop.Order --kind INSTANTIATION'))
    .argument('<typeFqn>')
    .addOption(wordOption('--kind <kind>', 'only references of this kind', REFERENCE_KINDS))
    .option('--scope-implementing <fqn>', 'only from subtypes of this type')
    .option('--synthetic', 'list compiler-made members instead of counting their references for others')
    .option(
      '--declared',
      'count calls for the class that declares the method, not the class named in the bytecode',
    )
    .action(async (fqn: string, flags: XrefFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { kind, scopeImplementing, declared, synthetic, includeLibraries, page, size } = flags
      const parameters = { kind, scopeImplementing, declared, synthetic, includeLibraries, page, size }
      const answer = await get<ReturnType<typeof xrefOf>>(pathOf('xref', fqn), parameters)
      output.result(answer, () => referenceTable(answer))
    })
}

function callTable(answer: ReturnType<typeof callsOf>): string {
  const rows = answer.methods.flatMap(({ methodName, calls }) =>
    calls.map((call) => [
      methodName,
      call.lineNumber === null ? '-' : String(call.lineNumber),
      `${call.ownerType}.${call.methodName}`,
      call.constantArgs.map(({ value }) => JSON.stringify(value)).join(', '),
    ]),
  )
  return `${formatTable(['Method', 'Line', 'Calls', 'Constant arguments'], rows)}\n\n${answer.totalCalls} calls`
}

function callerTable(answer: ReturnType<typeof callersOf>): string {
  const rows = answer.callers.map((caller) => [
    caller.classFqn,
    caller.methodName + caller.methodDescriptor,
    caller.lineNumber === null ? '-' : String(caller.lineNumber),
    caller.via,
  ])
  const found = [pageLine(answer), ...omittedCalls(answer)].join('\n')
  return `${formatTable(['Class', 'Method', 'Line', 'Via'], rows)}\n\n${found}`
}

function pathTable({ paths, note }: Awaited<ReturnType<typeof findPaths>>): string {
  const rows = paths.flatMap(({ steps }, at) =>
    steps.map((step) => [
      String(at + 1),
      `${step.classFqn}#${step.methodName}`,
      step.lineNumber === null ? '-' : String(step.lineNumber),
      `${step.calleeFqn}#${step.calleeName}`,
      step.reason,
    ]),
  )
  if (rows.length === 0) return note
  return `${formatTable(['Path', 'Caller', 'Line', 'Callee', 'Reason'], rows)}\n\n${note}`
}

function referenceTable(answer: ReturnType<typeof xrefOf>): string {
  const rows = answer.references.map((reference) => [
    reference.fromFqn,
    reference.kind,
    reference.member ?? '-',
    reference.detail,
    reference.lineNumber === null ? '-' : String(reference.lineNumber),
  ])
  const counts = Object.entries(answer.countsByKind).map(([kind, count]) => `${kind} ${count}`)
  return `${formatTable(['From', 'Kind', 'Member', 'Detail', 'Line'], rows)}\n\n${pageLine(answer)}  ${counts.join(', ')}`
}
