import { showTerminal } from '../../../../lib/page/terminal/show-terminal.ts'
import { lostOutputText, type WireLostOutput, type WireTerminalState } from '../../../api/terminal.ts'
import { TerminalInput } from '../../../api/terminal-input.ts'
import { ask, follow, type StreamEvent } from './streams.ts'

/** A process's terminal on the page. */
export interface TerminalView {
  readonly readAloud: (isOn: boolean) => void
  readonly close: () => void
}

interface TerminalViewOptions {
  readonly isReadAloud: boolean
  /** Called with the state of the process or the connection, in words. */
  readonly onState: (text: string) => void
}

interface WireOutput {
  readonly data: string
}

/** Shows a process's terminal in an element, across restarts of the process and broken connections. */
export function openTerminalView(
  container: HTMLElement,
  name: string,
  { isReadAloud, onState }: TerminalViewOptions,
): TerminalView {
  const path = `/processes/${encodeURIComponent(name)}/terminal`
  const controller = new AbortController()
  const input = new TerminalInput(
    (body) => ask(path, 'POST', body),
    (error) => onState(error.message),
  )
  const terminal = showTerminal(container, {
    label: `Terminal of ${name}`,
    isReadAloud,
    onInput: (bytes) => input.add(bytes),
    onResize: () => input.resize(terminal.size()),
  })
  const show = async (event: StreamEvent<unknown>): Promise<void> => {
    if (event.name === 'state') {
      const { status, reason } = event.data as WireTerminalState
      onState(status === 'running' ? status : `${status}: ${reason}`)
    } else if (event.name === 'lost')
      await terminal.write(lostOutputText((event.data as WireLostOutput).bytes))
    else await terminal.write(bytesOf((event.data as WireOutput).data))
  }
  void follow<unknown>(
    path,
    async (events) => {
      // Drawn before more is read: the supervisor leaves out what this page cannot draw in time.
      for (const event of events) await show(event)
    },
    controller.signal,
    {
      onOpen() {
        // The stored output follows, also after the connection broke.
        terminal.reset()
        input.resize(terminal.size())
      },
    },
  ).catch((error: Error) => onState(error.message))
  terminal.focus()
  return {
    readAloud: terminal.readAloud,
    close() {
      controller.abort()
      terminal.close()
    },
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
}
