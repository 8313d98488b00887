import { byId, make } from '../../../../lib/page/elements.ts'
import { explain } from '../../../api/explain.ts'
import type { WireSummary } from '../../../api/process.ts'
import type { WireWhy } from '../../../api/why.ts'
import { ask } from './streams.ts'

const section = byId('details', HTMLElement)
let shown: string | undefined
/** State of the process, as the list had it, when its details were requested. */
let requestedFor = ''

/** Explains the state of a process in the page's section for it. */
export async function showDetailsOf(name: string): Promise<void> {
  shown = name
  const why = await ask<WireWhy>(`/processes/${encodeURIComponent(name)}/why`)
  // Another one may have been chosen meanwhile.
  if (shown !== name) return
  const { head, facts, output, advice } = explain(why, Date.now())
  byId('details-title', HTMLElement).textContent = head
  byId('advice', HTMLElement).replaceChildren(...advice.map((each) => make('li', {}, each)))
  byId('facts', HTMLElement).replaceChildren(
    ...facts.flatMap(({ label, lines }) => [
      make('dt', {}, label),
      ...lines.map((line) => make('dd', {}, line)),
    ]),
  )
  const last = byId('last-output', HTMLElement)
  last.hidden = output.length === 0
  last.textContent = output.join('\n')
  section.hidden = false
}

/** Returns the process whose details are shown, if any. */
export function detailedProcess(): string | undefined {
  return shown
}

/** Updates the details if they are of this process and its state has changed. */
export async function updateDetails({ name, status, reason, restarts, health }: WireSummary): Promise<void> {
  const state = JSON.stringify([name, status, reason, restarts, health])
  if (name !== shown || state === requestedFor) return
  requestedFor = state
  await showDetailsOf(name)
}

/** Closes the details that are shown, or only those of a process. */
export function closeDetails(name = shown): void {
  if (name !== shown) return
  shown = undefined
  section.hidden = true
}

byId('details-close', HTMLButtonElement).addEventListener('click', () => closeDetails())
