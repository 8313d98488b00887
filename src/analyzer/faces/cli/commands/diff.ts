import { type Command, Option } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { BuildDiff } from '../../../diff/diff-builds.ts'

interface DiffFlags {
  readonly all?: boolean
  readonly failOn?: 'incompatible' | 'any'
  readonly projectJvm?: string
}

/** Adds the command diff. */
export function addDiff(program: Command): void {
  program
    .command('diff')
    .description(
      'compare the APIs of two builds and report changes that break programs compiled against the old one',
    )
    .argument('<old>', 'jar or class folder')
    .argument('<new>', 'jar or class folder')
    .option('--all', 'include what is neither public nor protected')
    .addOption(
      new Option('--fail-on <what>', 'exit with 1 if there is a change of this kind').choices([
        'incompatible',
        'any',
      ]),
    )
    .option('--project-jvm <dir>', 'JVM with the JDK classes that the builds use')
    .addHelpText('after', examples('analyzer diff --fail-on incompatible shop-1.2.jar target/classes'))
    .action(async (old: string, now: string, flags: DiffFlags, command: Command) => {
      const [{ compareConfined }, { findJvm, getJvmHome }, { loadAnalyzerConfig }] = await Promise.all([
        import('../../../diff/compare-confined.ts'),
        import('../../../project/find-jvm.ts'),
        import('../../../config.ts'),
      ])
      const { jvmHome: configured } = loadAnalyzerConfig(process.env)
      const named = flags.projectJvm ?? configured
      if (named !== undefined)
        getJvmHome(named, flags.projectJvm === undefined ? 'jvm_home' : '--project-jvm')
      const jvmHome = findJvm(named, process.env)?.home
      const diff = await compareConfined({ old, new: now, jvmHome, all: flags.all === true })
      for (const problem of diff.problems)
        process.stderr.write(`analyzer: could not be read: ${JSON.stringify(problem)}\n`)
      createOutput(command.optsWithGlobals()).result(diff, () => diffTable(diff))
      const found = flags.failOn === 'any' ? diff.changeCount : diff.incompatibleCount
      if (flags.failOn !== undefined && found > 0) throw new ExitStatus(1)
    })
}

function diffTable({ changes, changeCount, incompatibleCount }: BuildDiff): string {
  if (changeCount === 0) return 'no differences'
  const rows = changes.map((each) => [
    each.compatible ? '' : 'breaks',
    each.classFqn,
    each.member,
    [each.change, each.from, each.to === null ? null : `→ ${each.to}`]
      .filter((part) => part !== null)
      .join(' '),
    `${each.rule.split(' ').slice(0, 2).join(' ')}: ${each.why}`,
  ])
  const heading = ['', 'Class', 'Member', 'Change', 'Why']
  return `${formatTable(heading, rows)}\n\n${counted(changeCount, 'change')}, ${incompatibleCount} incompatible`
}
