/** An instruction of the user. */
export type Command =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'home'
  | 'end'
  | 'next-tab'
  | 'previous-tab'
  | 'logs'
  | 'why'
  | 'requests'
  | 'enter'
  | 'back'
  | 'search'
  | 'older-hit'
  | 'newer-hit'
  | 'filter'
  | 'all'
  | 'wrap'
  | 'times'
  | 'sort'
  | 'start'
  | 'stop'
  | 'restart'
  | 'mouse'
  | 'help'
  | 'quit'

/** Keys that give commands, with what they do. The help and the reference show this table. */
export const KEYS: readonly {
  /** Names of the keys, as the help shows them. */
  readonly shown: string
  readonly does: string
  readonly keys: Readonly<Record<string, Command>>
}[] = [
  {
    shown: 'Up Down k j',
    does: 'select a process; in the full pane, scroll',
    keys: { up: 'up', k: 'up', down: 'down', j: 'down' },
  },
  {
    shown: 'PgUp PgDn Home End',
    does: 'scroll the pane, or select a request; End follows again',
    keys: { pageup: 'page-up', pagedown: 'page-down', home: 'home', end: 'end' },
  },
  {
    shown: 'Tab Shift-Tab 1 2 3',
    does: 'show logs, why, or requests',
    keys: { tab: 'next-tab', 'shift-tab': 'previous-tab', '1': 'logs', '2': 'why', '3': 'requests' },
  },
  {
    shown: 'Enter',
    does: 'show the full pane; there, show the lines of a request',
    keys: { enter: 'enter' },
  },
  { shown: 'Esc', does: 'go back: end a search, a filter, the full pane', keys: { escape: 'back' } },
  { shown: '/', does: 'search the lines; lower case finds both cases', keys: { '/': 'search' } },
  { shown: 'n N', does: 'go to the next older or newer hit', keys: { n: 'older-hit', N: 'newer-hit' } },
  { shown: 'f', does: 'show only lines, or requests, that contain a text', keys: { f: 'filter' } },
  { shown: 'a', does: 'show lines and requests of all processes', keys: { a: 'all' } },
  { shown: 'w', does: 'wrap long lines', keys: { w: 'wrap' } },
  { shown: 't', does: 'show the times of lines', keys: { t: 'times' } },
  { shown: 'o', does: 'order by name, state, CPU, or memory', keys: { o: 'sort' } },
  { shown: 's', does: 'start the process', keys: { s: 'start' } },
  {
    shown: 'x',
    does: 'stop the process; asks if a terminal session would be lost',
    keys: { x: 'stop' },
  },
  {
    shown: 'r',
    does: 'restart the process; asks as well',
    keys: { r: 'restart' },
  },
  {
    shown: 'm',
    does: 'leave the mouse to the terminal, to select text, or use it',
    keys: { m: 'mouse' },
  },
  { shown: '?', does: 'show or hide this help', keys: { '?': 'help' } },
  { shown: 'q Ctrl-C', does: 'quit; the processes keep running', keys: { q: 'quit', 'ctrl-c': 'quit' } },
  // Not a command: the screen itself handles it.
  { shown: 'Ctrl-Z', does: 'suspend the view; "fg" of the shell continues it', keys: {} },
]

/** Actions of the mouse. The help and the reference show them after the keys. */
export const MOUSE: readonly { readonly shown: string; readonly does: string }[] = [
  { shown: 'Click', does: 'select a process, tab or request; again, show its lines' },
  { shown: 'Wheel', does: 'scroll what is under the pointer' },
]

const COMMANDS: ReadonlyMap<string, Command> = new Map(KEYS.flatMap(({ keys }) => Object.entries(keys)))

/** Returns the command of a key. */
export function commandOf(key: string): Command | undefined {
  return COMMANDS.get(key)
}
