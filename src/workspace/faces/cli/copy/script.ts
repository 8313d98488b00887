import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { printable } from '../../../../lib/cli/table.ts'
import { copyFault } from './endpoint.ts'

const MAX_MESSAGE_BYTES = 4096
const NOT_FOUND = 127

/** A script that runs inside a workspace, its exit status, and the end of its error output. */
export interface RunningScript {
  readonly child: ChildProcessWithoutNullStreams
  /** Waits for the exit. @throws COPY_FAILED with the script's messages when it failed */
  readonly finish: () => Promise<void>
}

/** Collects a script's error output and exit status. The output is untrusted. */
export function followScript(child: ChildProcessWithoutNullStreams, workspace: string): RunningScript {
  let messages = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    messages = (messages + text).slice(-MAX_MESSAGE_BYTES)
  })
  // The local side then removes its temporary file.
  process.once('SIGINT', () => child.kill())
  // A script that ends early closes its input; its status is the reason.
  child.stdin.on('error', () => undefined)
  const exit = once(child, 'close') as Promise<[number | null]>
  return {
    child,
    async finish() {
      const [status] = await exit
      if (status === 0) return
      if (status === NOT_FOUND)
        throw copyFault(
          'COPY_FAILED',
          `copying needs tar inside "${workspace}"; use an image that contains it, such as the default image`,
        )
      const lines = messages
        .split('\n')
        .map((line) => printable(line.trim()))
        .filter(Boolean)
        .slice(-3)
      throw copyFault(
        'COPY_FAILED',
        lines.join('; ') || `tar inside "${workspace}" failed with status ${status}`,
      )
    },
  }
}
