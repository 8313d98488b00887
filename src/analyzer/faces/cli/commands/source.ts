import { type Command, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { MethodSourceView } from '../../../source/show-method.ts'
import { SOURCE_FORMATS } from '../../../source/java/source-format.ts'
import type { SourceView } from '../../../source/show-source.ts'
import { SHOWN_LANGUAGES } from '../../../source/archive/source-text.ts'
import { VISIBILITIES } from '../../../source/java/visibility.ts'
import { addProjectOption, contextOf, pathOf } from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'

interface DecompileFlags {
  readonly decompilation: boolean
  readonly forceRefresh?: boolean
}

interface ShowFlags extends DecompileFlags {
  readonly format?: string
  readonly visibility?: string
  readonly lang?: string
}

interface MethodFlags extends DecompileFlags {
  readonly paramTypes?: string
  readonly context?: number
}

/** Adds the commands source show and source method. */
export function addSource(program: Command): void {
  const source = addProjectOption(program.command('source')).description('show source code')

  addDecompileOptions(source.command('show'))
    .description('show the source of a class of the project, a library or the JDK, decompiled if necessary')
    .addHelpText('after', examples('analyzer source show java.util.Map --format signatures'))
    .argument('<fqn>')
    .addOption(
      new Option('-f, --format <format>', 'the whole file, or only its declarations').choices(SOURCE_FORMATS),
    )
    .addOption(
      new Option('--visibility <level>', 'lowest visibility of the members in an excerpt').choices(
        VISIBILITIES,
      ),
    )
    .addOption(new Option('--lang <language>', 'only source in this language').choices(SHOWN_LANGUAGES))
    .action(async (fqn: string, flags: ShowFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { format, visibility, lang } = flags
      const parameters = { format, visibility, lang, ...decompiling(flags) }
      const answer = await get<{ source: SourceView }>(pathOf('source', fqn), parameters, SOURCE_ANSWER_MS)
      const { content, language } = answer.source
      await output.text(answer, content, language === 'java' ? paintJava : undefined)
    })

  addDecompileOptions(source.command('method'))
    .description('show the source of a method, with all overloads')
    .addHelpText('after', examples('analyzer source method java.util.List of --param-types "()"'))
    .argument('<fqn>', 'the class')
    .argument('<method>', 'method name; <init> or the simple class name for constructors')
    .option(
      '--param-types <types>',
      'only the overload with these parameter types: "int, java.lang.String"; "()" for none',
    )
    .option('-c, --context <lines>', 'lines of context before and after; default 0', wholeNumber)
    .action(async (fqn: string, method: string, flags: MethodFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { paramTypes, context } = flags
      const path = `${pathOf('source', fqn)}/method/${encodeURIComponent(method)}`
      const parameters = { paramTypes, context, ...decompiling(flags) }
      const answer = await get<{ methodSource: MethodSourceView }>(path, parameters, SOURCE_ANSWER_MS)
      await output.text(answer, methodText(answer.methodSource), paintJava)
    })
}

function addDecompileOptions(command: Command): Command {
  return command
    .option('--no-decompilation', 'fail if there is no source')
    .option('--force-refresh', 'decompile again instead of using the cache')
}

function decompiling({ decompilation, forceRefresh }: DecompileFlags) {
  return { allowDecompilation: decompilation ? undefined : 'false', forceRefresh }
}

function methodText(view: MethodSourceView): string {
  return (view.overloads ?? [view])
    .map(({ contextBefore, content, contextAfter }) =>
      [contextBefore, content, contextAfter].filter((part) => part !== '').join('\n'),
    )
    .join('\n\n')
    .concat('\n')
}

/** Highlights Java. The parser is loaded on demand because loading takes time and only terminals need it. */
async function paintJava(content: string): Promise<string> {
  const { paintJava: paint } = await import('../../../source/java/paint-java.ts')
  return paint(content)
}
