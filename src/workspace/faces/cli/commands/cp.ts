import type { Command } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { addServerOption, type CliContext, contextOf } from '../context.ts'
import { copyFault, type Endpoint, parseEndpoint } from '../copy/endpoint.ts'
import { copyFromWorkspace, streamFromWorkspace } from '../copy/from-workspace.ts'
import { CopyMeter } from '../copy/meter.ts'
import { copyToWorkspace } from '../copy/to-workspace.ts'

/** Exit status of a program that SIGINT ended. */
const INTERRUPTED = 130

/** Adds the command `cp`. */
export function addCopy(program: Command): void {
  addServerOption(program.command('cp'))
    .description('copy files and directories between this machine and a workspace')
    .argument('<source>', 'PATH or NAME:PATH; - reads a tar archive from standard input')
    .argument('<target>', 'PATH or NAME:PATH; - writes a tar archive to standard output')
    .addHelpText(
      'after',
      examples(
        'workspace cp notes.txt demo:',
        'workspace cp demo:/workspace/build ./build',
        'workspace cp ./site/. demo:public',
        'workspace cp demo:src - | tar -tf -',
      ),
    )
    .action(async (source: string, target: string, _options: unknown, command: Command) => {
      const [from, to] = [parseEndpoint(source), parseEndpoint(target)]
      const context = await contextOf(command)
      const meter = new CopyMeter()
      let isInterrupted = false
      process.once('SIGINT', () => (isInterrupted = true))
      try {
        await copy(context, from, to, meter)
      } catch (error) {
        throw isInterrupted ? new ExitStatus(INTERRUPTED) : error
      } finally {
        meter.clear()
      }
      if (meter.skipped > 0)
        process.stderr.write(
          `workspace: skipped ${counted(meter.skipped, 'device, FIFO or socket', 'devices, FIFOs or sockets')}\n`,
        )
      if (to.is === 'stream') return
      const { files, bytes, skipped } = meter
      context.output.result({ source, target, files, bytes, skipped }, () =>
        from.is === 'stream' ? `copied the archive to ${target}` : `copied ${meter.toString()} to ${target}`,
      )
    })
}

async function copy(context: CliContext, from: Endpoint, to: Endpoint, meter: CopyMeter): Promise<void> {
  if (from.is === 'inside' && to.is === 'local') return copyFromWorkspace(context, from, to.path, meter)
  if (from.is === 'inside' && to.is === 'stream') return streamFromWorkspace(context, from, meter)
  if (from.is === 'local' && to.is === 'inside') return copyToWorkspace(context, from.path, to, meter)
  if (from.is === 'stream' && to.is === 'inside') return copyToWorkspace(context, process.stdin, to, meter)
  throw copyFault(
    'COPY_INVALID',
    from.is === 'inside'
      ? 'copying between two workspaces takes two steps: copy to this machine first'
      : 'one of source and target must be in a workspace, such as demo:/workspace/file',
  )
}
