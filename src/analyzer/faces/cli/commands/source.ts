import { type Command, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
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

/** source show, source method. */
export function addSource(program: Command): void {
  const source = addProjectOption(program.command('source')).description('show source code')

  addDecompileOptions(source.command('show'))
    .description("the source of a class: the project's, a library's, the JDK's, or decompiled")
    .argument('<fqn>')
    .addOption(new Option('-f, --format <format>', 'all of it, or what it declares').choices(SOURCE_FORMATS))
    .addOption(
      new Option('--visibility <level>', 'the least visible members that an excerpt has').choices(
        VISIBILITIES,
      ),
    )
    .addOption(new Option('--lang <language>', 'only a source in this language').choices(SHOWN_LANGUAGES))
    .action(async (fqn: string, flags: ShowFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const { format, visibility, lang } = flags
      const parameters = { format, visibility, lang, ...decompiling(flags) }
      const answer = await get<{ source: SourceView }>(pathOf('source', fqn), parameters, SOURCE_ANSWER_MS)
      const { content, language } = answer.source
      await output.text(answer, content, language === 'java' ? paintJava : undefined)
    })

  addDecompileOptions(source.command('method'))
    .description('the source of a method of a class, with all overloads')
    .argument('<fqn>', 'the class')
    .argument('<method>', 'its name; <init> or the simple name of the class for constructors')
    .option('--param-types <types>', 'only the overload with these: "int, java.lang.String"; "()" for none')
    .option('-c, --context <lines>', 'lines before and after; default none', wholeNumber)
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
    .option('--no-decompilation', 'a class without source is an error')
    .option('--force-refresh', 'decompile again what has been decompiled before')
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

/** Loaded where there is a terminal to color for: the parser takes its time. */
async function paintJava(content: string): Promise<string> {
  const { paintJava: paint } = await import('../../../source/java/paint-java.ts')
  return paint(content)
}
