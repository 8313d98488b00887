import { fc } from '../../../../support/fast-check.ts'
import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import type { WireWhy } from '../../../../../src/supervisor/api/why.ts'
import type { Input } from '../../../../../src/lib/cli/terminal-input.ts'
import { type Event, reduce } from '../../../../../src/supervisor/faces/cli/top/reduce.ts'
import { KEYS } from '../../../../../src/supervisor/faces/cli/top/state/keys.ts'
import {
  initialState,
  layoutOf,
  type State,
} from '../../../../../src/supervisor/faces/cli/top/state/state.ts'
import { paintRow } from '../../../../../src/supervisor/faces/cli/top/text/rows.ts'
import { render } from '../../../../../src/supervisor/faces/cli/top/view/render.ts'
import { rounds } from '../../../../support/rounds.ts'

/** Text with what rearranges screens: escapes, tabs, wide, joined and combining characters, other directions, halves. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.string({ maxLength: 40 }),
      fc.constantFrom(
        '日本語',
        '👩‍👩‍👧',
        '😀',
        '🇩🇪',
        '́'.repeat(40),
        '\t',
        '\u001b[2J',
        '\u001b]0;x\u0007',
        '\u009b31m',
      ),
      fc.constantFrom('\u202e', '\u2066', '\ud800', '\r', '\n', 'ﷺ', '각', 'error', ' '),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

const name = fc.constantFrom(
  'web',
  'worker',
  'a-very-long-name-of-a-process-of-some-project',
  '日本',
  'w\u001b[31m',
)
const processes = fc.uniqueArray(
  fc.record({
    name,
    status: fc.constantFrom('running', 'stopped', 'starting', 'stopping', 'crashed'),
    pid: fc.constantFrom(0, 1, 4_194_304),
    uptime_seconds: fc.nat(),
    restarts: fc.nat(),
    health: fc.constantFrom('healthy', 'unhealthy', 'unknown'),
    reason: text,
    tty: fc.boolean(),
  }),
  { selector: (each) => each.name, maxLength: 5 },
)
const entries = fc.array(
  fc.record({
    timestamp: fc.constant('2026-01-01T10:11:12.123Z'),
    process: name,
    stream: fc.constantFrom('stdout', 'stderr'),
    line: text,
  }),
  { maxLength: 30 },
)
const request = fc.record({
  id: fc.nat(99).map(String),
  timestamp: fc.constant('2026-01-01T10:11:12.123Z'),
  method: fc.constantFrom('GET', 'PROPFIND-LONG'),
  url: text,
  subdomain: fc.constantFrom('', 'web'),
  status_code: fc.constantFrom(200, 404, 502),
  duration_ms: fc.nat(),
  remote_addr: fc.constant('127.0.0.1'),
  process: fc.option(name),
  request_bytes: fc.nat(),
  response_bytes: fc.nat(),
  replay_of: fc.constant(null),
  held_ms: fc.nat(3),
})
const why = fc.tuple(name, text, fc.array(text, { maxLength: 4 })).map(([of, reason, texts]): WireWhy => {
  const timestamp = '2026-01-01T00:00:00.000Z'
  return {
    name: of,
    status: 'crashed',
    health: 'unhealthy',
    pid: 0,
    reason,
    since: timestamp,
    last_exit: null,
    output: texts.map((line) => ({ timestamp, process: of, stream: 'stderr', line })),
    healthcheck: {
      check: reason,
      consecutive_failures: 1,
      retries: 3,
      failures: texts.map((output) => ({ timestamp, output })),
    },
    dependencies: [],
    ports: [],
    restarts: 2,
    starts: [],
    next_attempt: null,
    next_run: null,
    failed_requests: [],
    advice: texts,
  }
})

const place = { column: fc.nat(210), row: fc.nat(60) }
const input: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      is: fc.constant('key' as const),
      key: fc.constantFrom(...KEYS.flatMap(({ keys }) => Object.keys(keys)).filter((key) => key !== 'q')),
    }),
  },
  fc.record({ is: fc.constant('key' as const), key: fc.constantFrom('e', 'y', 'backspace', 'ctrl-u', '語') }),
  fc.record({ is: fc.constant('paste' as const), text }),
  fc.record({ is: fc.constant('click' as const), ...place }),
  fc.record({ is: fc.constant('wheel' as const), up: fc.boolean(), ...place }),
)
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ is: fc.constant('input' as const), input }) },
  fc.record({
    is: fc.constant('resized' as const),
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 50 }),
  }),
  fc.record({
    is: fc.constant('polled' as const),
    address: fc.constant('http://127.0.0.1:5555'),
    processes,
    usage: fc.constant([{ name: 'web', cpu_percent: 12.3, memory_bytes: 2 ** 30 }]),
    nowMs: fc.constant(Date.parse('2026-01-01T00:01:00.000Z')),
  }),
  fc.record({ is: fc.constant('lost' as const), reason: text }),
  fc.record({ is: fc.constant('stored' as const), entries }),
  fc.record({ is: fc.constant('printed' as const), entries }),
  fc.record({ is: fc.constant('missed' as const), lines: fc.nat() }),
  fc.record({ is: fc.constant('explained' as const), why }),
  fc.record({
    is: fc.constant('requests' as const),
    requests: fc.array(request, { maxLength: 20 }),
    note: text,
  }),
  fc.record({ is: fc.constant('requested' as const), request }),
  fc.record({ is: fc.constant('opened' as const), request, entries }),
  fc.record({ is: fc.constant('reported' as const), message: text }),
) as fc.Arbitrary<Event>

/** Calls `check` with the states of generated sessions. */
function forSessions(check: (state: State) => void): void {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      let state = initialState(80, 24, 'http://127.0.0.1:5555')
      for (const each of events) {
        state = reduce(state, each).state
        check(state)
      }
    }),
    { numRuns: rounds(30, 150) },
  )
}

// oxlint-disable-next-line no-control-regex -- it matches the sequences that color the screen
const COLORING = /\u001b\[[0-9;]*m/g
// oxlint-disable-next-line no-control-regex -- it matches what must not reach a terminal
const ACTING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u

test('every screen has exactly its rows and columns, and nothing that acts on the terminal', () => {
  forSessions((state) => {
    const rows = render(state).map((row) => paintRow(row, true).replaceAll(COLORING, ''))
    expect(rows).toHaveLength(state.rows)
    for (const row of rows) {
      expect(row).not.toMatch(ACTING)
      expect(stringWidth(row), JSON.stringify(row)).toBe(state.columns)
    }
  })
})

test('the selected process is in view while it exists, and rows of the table are not left empty', () => {
  forSessions((state) => {
    const names = state.processes.map((each) => each.name)
    if (names.length === 0) return
    expect(state.selected).not.toBe('')
    const { tableRows } = layoutOf(state)
    if (tableRows === 0) return
    const shown = names.slice(state.firstRow, state.firstRow + tableRows)
    expect(shown).toHaveLength(Math.min(tableRows, names.length))
    if (names.includes(state.selected)) expect(shown).toContain(state.selected)
  })
})

test('only the user selects another process, and keys act on the selected one or on none', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      let state = initialState(80, 24, 'http://127.0.0.1:5555')
      for (const each of events) {
        const { state: next, effect } = reduce(state, each)
        if (each.is !== 'input' && state.selected !== '') expect(next.selected).toBe(state.selected)
        if (effect?.is === 'act') {
          const { mode } = state
          expect(effect.name).toBe(mode.is === 'confirming' ? mode.name : state.selected)
          if (mode.is !== 'confirming')
            expect(state.processes.map((process) => process.name)).toContain(effect.name)
        }
        state = next
      }
    }),
    { numRuns: rounds(30, 150) },
  )
})

test('a key does not act on the neighbor of a process that disappeared before it', () => {
  const polled = (...names: readonly string[]): Event => ({
    is: 'polled',
    address: '',
    processes: names.map((each) => ({
      name: each,
      status: 'running',
      pid: 1,
      uptime_seconds: 1,
      restarts: 0,
      health: 'unknown',
      reason: '',
      next_run: null,
      tty: false,
      groups: [],
      base: each,
      depends_on: {},
    })),
    usage: [],
    nowMs: 0,
  })
  const press = (key: string): Event => ({ is: 'input', input: { is: 'key', key } })
  let state = initialState(80, 24, '')
  const after = (...events: readonly Event[]) => {
    let effect
    for (const each of events) ({ state, effect } = reduce(state, each))
    return { selected: state.selected, message: state.message, effect }
  }
  after(polled('a', 'b', 'c'), press('down'))
  const missing = 'process "b" no longer exists; select another'
  expect(after(polled('a', 'c'))).toEqual({ selected: 'b', message: missing, effect: undefined })
  for (const key of ['x', 'r', 's'])
    expect(after(press(key))).toMatchObject({ message: missing, effect: undefined })
  // It exists again.
  expect(after(polled('a', 'b', 'c'), press('x')).effect).toEqual({ is: 'act', action: 'stop', name: 'b' })
  expect(after(polled('a', 'c'), press('down')).selected).toBe('a')
})
