import { type Command, Option } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { DUPLICATES } from '../../../choices.ts'
import type { duplicatesOf } from '../../../query/duplicates/duplicates.ts'
import { addProjectOption, contextOf, pageLine } from '../context.ts'
import { SOURCE_ANSWER_MS } from '../server-client.ts'
import { addPageOptions } from './classes.ts'

interface DuplicatesFlags {
  readonly of?: string
  readonly page?: number
  readonly size?: number
}

type DuplicatesAnswer = Awaited<ReturnType<typeof duplicatesOf>>

/** Adds the command duplicates. */
export function addDuplicates(program: Command): void {
  addPageOptions(addProjectOption(program.command('duplicates')))
    .description('list classes that are on the class path more than once; exit with 1 if there are any')
    .addHelpText('after', examples('analyzer duplicates', 'analyzer duplicates --of package'))
    .addOption(
      new Option('--of <what>', 'list classes, or packages in several places')
        .choices(DUPLICATES)
        .default('class'),
    )
    .action(async ({ of, page, size }: DuplicatesFlags, command: Command) => {
      const { get, output } = await contextOf(command)
      const parameters = { of, page, size }
      const answer = await get<DuplicatesAnswer>('/api/v1/duplicates', parameters, SOURCE_ANSWER_MS)
      output.result(answer, () => duplicatesTable(answer))
      if (answer.totalCount > 0) throw new ExitStatus(1)
    })
}

function duplicatesTable(answer: DuplicatesAnswer): string {
  if (answer.totalCount === 0) return 'no duplicates'
  if ('packages' in answer) {
    const rows = answer.packages.flatMap(({ packageName, locations }) =>
      locations.map(({ location, classCount }) => [packageName, String(classCount), location]),
    )
    return `${formatTable(['Package', 'Classes', 'Location'], rows)}\n\n${pageLine(answer)}`
  }
  const rows = answer.classes.flatMap(({ classFqn, locations, isIdentical }) =>
    locations.map(({ location }, at) => [classFqn, at === 0 ? 'loaded' : sameness(isIdentical), location]),
  )
  const pairs = answer.pairs.map(
    ({ loaded, hidden, classCount }) =>
      `${counted(classCount, 'class', 'classes')} of ${hidden} hidden by ${loaded}`,
  )
  return [formatTable(['Class', 'Bytes', 'Location'], rows), '', ...pairs, '', pageLine(answer)].join('\n')
}

function sameness(isIdentical: boolean | null): string {
  if (isIdentical === null) return 'unknown'
  return isIdentical ? 'same' : 'different'
}
