import { byId, make } from '../../../../lib/page/elements.ts'
import type { TerminalView } from './terminal-view.ts'

const section = byId('terminal', HTMLElement)
const readAloud = byId('read-aloud', HTMLInputElement)
const state = byId('terminal-state', HTMLElement)
let view: TerminalView | undefined
let shown: string | undefined

/** Shows the terminal of a process in the page's section for it. The code of terminals is loaded on first use. */
export async function showTerminalOf(name: string): Promise<void> {
  closeTerminal()
  shown = name
  byId('terminal-title', HTMLElement).textContent = `Terminal of ${name}`
  state.textContent = 'connecting'
  const place = make('div', { className: 'terminal-place' })
  section.append(place)
  section.hidden = false
  section.scrollIntoView({ block: 'nearest' })
  const { openTerminalView } = await import('./terminal-view.ts')
  // Another one may have been opened meanwhile.
  if (!place.isConnected) return
  view = openTerminalView(place, name, {
    isReadAloud: readAloud.checked,
    onState: (text) => (state.textContent = text),
  })
}

/** Closes the terminal that is shown, or only that of a process. The process continues. */
export function closeTerminal(name = shown): void {
  if (name !== shown) return
  view?.close()
  view = undefined
  shown = undefined
  section.querySelector('.terminal-place')?.remove()
  section.hidden = true
}

byId('terminal-close', HTMLButtonElement).addEventListener('click', () => closeTerminal())
readAloud.addEventListener('change', () => view?.readAloud(readAloud.checked))
