import { byId, make } from '../../../../lib/page/elements.ts'
import type { WireSummary } from '../../../api/process.ts'
import { ask } from './streams.ts'

const bar = byId('groups', HTMLElement)
const choice = byId('group', HTMLSelectElement)
const actions = make('span', { hidden: true })
let known = ''

/** Whether the page shows a process, by the group that is chosen. */
export function isShown({ groups }: WireSummary): boolean {
  return choice.value === '' || groups.includes(choice.value)
}

/** Returns the name of the chosen group; empty for all. */
export function chosenGroup(): string {
  return choice.value
}

/** Updates the groups that can be chosen. A group that no longer exists is not chosen anymore. */
export function updateGroups(processes: readonly WireSummary[]): void {
  const names = [...new Set(processes.flatMap(({ groups }) => groups))].toSorted()
  if (names.join() === known) return
  known = names.join()
  const before = choice.value
  choice.replaceChildren(new Option('all groups', ''), ...names.map((name) => new Option(name, name)))
  choice.value = names.includes(before) ? before : ''
  bar.hidden = names.length === 0
  if (choice.value !== before) choice.dispatchEvent(new Event('change'))
}

/**
 * Makes the filter work.
 *
 * @param button creates a button that does something and then shows its result
 * @param onChange called when another group is chosen
 */
export function startGroupFilter(
  button: (label: string, work: () => Promise<unknown>) => HTMLButtonElement,
  onChange: () => void,
): void {
  const act = (action: string) => (): Promise<unknown> =>
    ask(`/groups/${encodeURIComponent(choice.value)}/${action}`, 'POST')
  actions.append(
    button('Start group', act('start')),
    button('Stop group', act('stop')),
    button('Restart group', act('restart')),
  )
  bar.append(actions)
  choice.addEventListener('change', () => {
    actions.hidden = choice.value === ''
    onChange()
  })
}
