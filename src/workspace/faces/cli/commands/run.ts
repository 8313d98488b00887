import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { collect } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { shellQuote } from '../../../../lib/process/shell-quote.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { addServerOption, type CliContext, contextOf } from '../context.ts'
import { copyFromWorkspace } from '../copy/from-workspace.ts'
import { CopyMeter } from '../copy/meter.ts'
import { addCreateOptions, createBody, type CreateOptions } from '../create-options.ts'
import { runInside } from '../ssh-client.ts'
import { withoutSeparator } from './ssh.ts'

interface RunOptions extends CreateOptions {
  readonly name?: string
  readonly rm?: boolean
  readonly artifact?: readonly string[]
}

const INTERRUPTED = 130

/** Adds the command `run`. */
export function addRun(program: Command): void {
  addCreateOptions(addServerOption(program.command('run')))
    .description('create a workspace, run a program in it, and exit with its status')
    .argument('<program...>', 'program and its arguments, passed without shell interpretation')
    .option('--name <name>', 'name of the workspace (default: run- and random digits)')
    .option('--rm', 'delete the workspace and its files afterwards')
    .option(
      '--artifact <path>',
      'file or directory to copy to the current directory afterwards; repeatable',
      collect,
    )
    .passThroughOptions()
    .addHelpText(
      'after',
      examples(
        'workspace run --rm -- uname -a',
        'workspace run --rm --image node:24 --repo octocat/Hello-World -- npm test',
        'workspace run --rm --artifact build/report.html -- make report',
      ),
    )
    .action(async (args: string[], options: RunOptions, command: Command) => {
      const name = options.name ?? `run-${randomBytes(4).toString('hex')}`
      throw new ExitStatus(await runOnce(await contextOf(command), name, withoutSeparator(args), options))
    })
}

/** Returns the program's status, after copying artifacts and deleting the workspace if requested. */
async function runOnce(
  context: CliContext,
  name: string,
  argv: readonly string[],
  { rm = false, artifact = [], ...options }: RunOptions,
): Promise<number> {
  const { client, output, server } = context
  const path = `/api/workspaces/${encodeURIComponent(name)}`
  let isInterrupted = false
  const remove = (): Promise<void> => client.delete(path)
  const interrupt = (): void => {
    isInterrupted = true
    // Cancels the creation.
    if (rm) void remove().catch(ignore('after its creation the workspace is deleted, which is reported'))
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, interrupt)
  try {
    const body = createBody(name, options, server)
    const created = await client.postWithProgress<WireWorkspace>('/api/workspaces', body, output.progress)
    output.warnings(created.warnings)
  } catch (error) {
    throw isInterrupted ? new ExitStatus(INTERRUPTED) : error
  }
  // From here on, signals end the program, and then the workspace is deleted.
  try {
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY
    const running = runInside(context, name, argv.map(shellQuote), { options: isTerminal ? ['-t'] : [] })
    for (const signal of signals) process.off(signal, interrupt)
    const status = await running
    for (const each of artifact) await copyArtifact(context, name, each)
    if (!rm) report(`${name} is still running; delete it with: workspace rm ${name}`)
    return status
  } finally {
    if (rm) await remove().catch((error: unknown) => report(`${name} cannot be deleted: ${messageOf(error)}`))
  }
}

async function copyArtifact(context: CliContext, workspace: string, path: string): Promise<void> {
  const meter = new CopyMeter()
  try {
    await copyFromWorkspace(context, { is: 'inside', workspace, path }, `./${basename(path)}`, meter)
  } finally {
    meter.clear()
  }
}

function report(message: string): void {
  process.stderr.write(`workspace: ${message}\n`)
}
