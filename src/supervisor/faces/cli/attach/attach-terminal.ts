import { spawnSync } from 'node:child_process'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { lostOutputText, type WireLostOutput, type WireTerminalState } from '../../../api/terminal.ts'
import { TerminalInput } from '../../../api/terminal-input.ts'
import type { StreamEvent, SupervisorClient } from '../client.ts'
import { DetachKeys } from './detach-keys.ts'
import { TerminalModes } from './terminal-modes.ts'

/** End of an attachment. */
export type AttachEnd =
  | { readonly is: 'detached' }
  /** The process is down and will not start by itself. */
  | { readonly is: 'over'; readonly state: WireTerminalState }

/** Connects this terminal to the terminal of a process until the user detaches or the process stays down. */
export async function attachTerminal(
  client: SupervisorClient,
  name: string,
  detachKeys: Buffer,
): Promise<AttachEnd> {
  const { stdin, stdout } = process
  const path = `/processes/${encodeURIComponent(name)}/terminal`
  const controller = new AbortController()
  const end = Promise.withResolvers<AttachEnd>()
  const modes = new TerminalModes()
  const keys = new DetachKeys(detachKeys)
  const input = new TerminalInput((body) => client.post(path, body), end.reject)
  const show = ({ event, data }: StreamEvent): void => {
    if (event === 'state') {
      const state = data as WireTerminalState
      if (state.over) end.resolve({ is: 'over', state })
    } else if (event === 'lost') {
      stdout.write(lostOutputText((data as WireLostOutput).bytes))
    } else {
      const bytes = Buffer.from((data as { data: string }).data, 'base64')
      modes.read(bytes)
      stdout.write(bytes)
    }
  }
  const type = (bytes: Buffer): void => {
    const { input: typed, isDetach } = keys.read(bytes)
    input.add(typed)
    if (isDetach) end.resolve({ is: 'detached' })
  }
  const resize = (): void => {
    // Some terminals, such as serial lines, have no known size.
    if (stdout.columns > 0 && stdout.rows > 0) input.resize({ columns: stdout.columns, rows: stdout.rows })
  }
  const onSignal = (): void => end.resolve({ is: 'detached' })
  resize()
  stdin.setRawMode(true)
  keepOutput()
  stdin.on('data', type)
  stdout.on('resize', resize)
  process.once('SIGTERM', onSignal).once('SIGHUP', onSignal)
  const following = client
    .follow(path, show, { signal: controller.signal })
    .then(() => end.reject(new Error(`the supervisor closed the connection to "${name}"`)), end.reject)
  try {
    return await end.promise
  } finally {
    stdin.off('data', type).pause()
    stdout.off('resize', resize)
    await input.drained().catch(ignore('a request that failed has ended the session with its error'))
    controller.abort()
    await following
    stdin.setRawMode(false)
    stdout.write(modes.reset())
  }
}

/**
 * Stops this terminal from changing the output, which has passed through the process's terminal already: a line feed
 * would also return to the first column, where full-screen programs only mean the next line. The raw mode of Node.js keeps
 * this translation; leaving raw mode restores all settings. Source: uv_tty_set_mode, termios(3).
 */
function keepOutput(): void {
  // Without stty only such programs look wrong.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
}
