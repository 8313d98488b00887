import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { workspaceHref } from '../routes.ts'
import { messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'
import type { OpenTerminal } from './open-terminal.ts'
import type { TerminalState } from './terminal-connection.ts'

const READ_ALOUD = 'workspace-terminal-read-aloud'

interface TerminalPageProps {
  readonly name: string
  readonly session: string | undefined
}

/** A full-window terminal of a workspace. Its code is loaded on first use. */
export function TerminalPage({ name, session }: TerminalPageProps) {
  const container = useRef<HTMLDivElement>(null)
  const terminal = useRef<OpenTerminal>(null)
  const [state, setState] = useState<TerminalState>({ is: 'opening' })
  const [isReadAloud, setReadAloud] = useState(() => localStorage.getItem(READ_ALOUD) === 'true')
  const readAloud = (isOn: boolean): void => {
    localStorage.setItem(READ_ALOUD, String(isOn))
    setReadAloud(isOn)
    terminal.current?.readAloud(isOn)
  }
  useEffect(() => {
    let isWanted = true
    const open = async (): Promise<void> => {
      const { openTerminal } = await import('./open-terminal.ts')
      if (!isWanted || container.current === null) return
      terminal.current = openTerminal(container.current, { name, session, isReadAloud, onState: setState })
    }
    open().catch((error: unknown) => setState({ is: 'failed', message: messageOf(error) }))
    return () => {
      isWanted = false
      terminal.current?.close()
    }
  }, [name, session])
  const canReopen = state.is === 'ended' || state.is === 'failed'
  return (
    <section class="terminal-page" aria-labelledby="terminal-title">
      <header class="page-head">
        <h1 id="terminal-title">
          <a href={workspaceHref(name)}>{name}</a>
          <span class="faint"> {session ?? texts.terminal.shell}</span>
        </h1>
        <span class={`status ${state.is === 'open' ? 'running' : 'stopped'}`} role="status">
          {labelOf(state)}
        </span>
        {canReopen && (
          <Button icon="refresh" kind="main" onClick={() => terminal.current?.reopen()}>
            {texts.terminal.reopen}
          </Button>
        )}
        <span class="faint push hint">{texts.terminal.keys}</span>
        <label class="check">
          <input
            type="checkbox"
            checked={isReadAloud}
            onChange={(event) => readAloud(event.currentTarget.checked)}
          />
          {texts.terminal.readAloud}
        </label>
      </header>
      <div ref={container} class="terminal-place" data-state={state.is} />
    </section>
  )
}

function labelOf(state: TerminalState): string {
  if (state.is === 'ended') return texts.terminal.ended(state.exitStatus)
  return state.is === 'failed' ? state.message : texts.terminal[state.is]
}
