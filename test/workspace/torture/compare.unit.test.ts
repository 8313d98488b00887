import { expect, test } from 'vitest'
import {
  compare,
  type ObservedContent,
  type ObservedWorkspace,
} from '../../../src/workspace/torture/compare.ts'
import { type ExpectedWorkspace, Ledger, type Register } from '../../../src/workspace/torture/ledger.ts'

function acknowledge<T>(register: Register<T>, value: T): void {
  register.begin(value)
  register.acknowledge()
}

/** A workspace with an acknowledged file, label and line. */
function used(): { readonly ledger: Ledger; readonly expected: ExpectedWorkspace } {
  const ledger = new Ledger()
  const expected = ledger.add('demo')
  acknowledge(expected.exists, true)
  acknowledge(expected.file('f1'), 'abc')
  acknowledge(expected.label('team'), 'web')
  expected.appended.add('line 1')
  return { ledger, expected }
}

function found(
  changes: Partial<ObservedWorkspace> = {},
  content: Partial<ObservedContent> = {},
): ObservedWorkspace {
  const whole = { digests: new Map([['f1', 'abc']]), lines: ['line 1'], ...content }
  return { name: 'demo', status: 'running', labels: { team: 'web' }, content: whole, ...changes }
}

test('nothing is found when everything acknowledged exists once', () => {
  expect(compare(used().ledger, [found()])).toEqual([])
})

test.each<readonly [string, readonly ObservedWorkspace[], string, RegExp]>([
  ['workspace', [], 'lost', /demo, whose creation was acknowledged/],
  ['file', [found({}, { digests: new Map() })], 'lost', /file f1/],
  ['byte of a file', [found({}, { digests: new Map([['f1', 'abd']]) })], 'changed', /f1.*abd, not abc/],
  ['line', [found({}, { lines: [] })], 'lost', /line 1/],
  ['label', [found({ labels: {} })], 'lost', /label team/],
  ['value of a label', [found({ labels: { team: 'ops' } })], 'changed', /team.*ops, not web/],
  ['status', [found({ status: 'error', errorMessage: 'why' })], 'lost', /it is error \(why\), not running/],
])('a lost %s is found', (_what, observed, kind, what) => {
  expect(compare(used().ledger, observed)).toEqual([{ kind, what: expect.stringMatching(what) }])
})

test.each<readonly [string, readonly ObservedWorkspace[], string, RegExp]>([
  ['workspace', [found(), found()], 'doubled', /demo is listed twice/],
  ['line', [found({}, { lines: ['line 1', 'line 1'] })], 'doubled', /line 1.*2 times/],
  ['unknown line', [found({}, { lines: ['line 1', 'x'] })], 'changed', /"x"/],
  [
    'unknown file',
    [
      found(
        {},
        {
          digests: new Map([
            ['f1', 'abc'],
            ['.x', 'a'],
          ]),
        },
      ),
    ],
    'orphan',
    /\.x/,
  ],
  ['unknown workspace', [found(), found({ name: 'other' })], 'orphan', /other/],
])('an additional %s is found', (_what, observed, kind, what) => {
  expect(compare(used().ledger, observed)).toEqual([{ kind, what: expect.stringMatching(what) }])
})

test('a deletion that was acknowledged lasts', () => {
  const { ledger, expected } = used()
  acknowledge(expected.exists, false)
  expect(compare(ledger, [])).toEqual([])
  expect(compare(ledger, [found()])).toEqual([
    { kind: 'lost', what: expect.stringContaining('the deletion of workspace demo') },
  ])
})

test('the removal of a file that was acknowledged lasts', () => {
  const { ledger, expected } = used()
  acknowledge(expected.file('f1'), undefined)
  expect(compare(ledger, [found({}, { digests: new Map() })])).toEqual([])
  expect(compare(ledger, [found()])).toEqual([
    { kind: 'lost', what: expect.stringContaining('the removal of file f1') },
  ])
})

test('a change without an answer may have happened or not, and nothing else', () => {
  const { ledger, expected } = used()
  expected.file('f1').begin('new')
  expected.file('f1').leaveOpen()
  expected.mayBeAppended.add('line 2')
  for (const digest of ['abc', 'new'])
    for (const lines of [['line 1'], ['line 1', 'line 2']])
      expect(compare(ledger, [found({}, { digests: new Map([['f1', digest]]), lines })])).toEqual([])
  const other = found({}, { digests: new Map([['f1', 'other']]) })
  expect(compare(ledger, [other])).toMatchObject([{ kind: 'changed' }])
  const twice = found({}, { lines: ['line 1', 'line 2', 'line 2'] })
  expect(compare(ledger, [twice])).toMatchObject([{ kind: 'doubled' }])
})

test('a refused change has not happened', () => {
  const { ledger, expected } = used()
  expected.label('team').begin('ops')
  expected.label('team').refuse()
  expect(compare(ledger, [found()])).toEqual([])
  expect(compare(ledger, [found({ labels: { team: 'ops' } })])).toMatchObject([{ kind: 'changed' }])
})

test('a killed workspace may be stopped and keep the temporary files of its programs', () => {
  const { ledger, expected } = used()
  const digests = new Map([
    ['f1', 'abc'],
    ['.temporary', 'a'],
  ])
  expected.noteInterruption()
  expected.status.leaveOpen('stopped')
  expect(compare(ledger, [found({}, { digests })])).toEqual([])
  expect(compare(ledger, [found({ status: 'stopped', content: undefined })])).toEqual([])
  expect(compare(ledger, [found({ status: 'error' })])).toMatchObject([{ kind: 'lost' }])
})
