import { expect, test } from 'vitest'
import type { WireWorkspace } from '../../../../../../src/workspace/api/workspace.ts'
import {
  type Column,
  FIRST_VIEW,
  selectRows,
  sortBy,
} from '../../../../../../src/workspace/faces/web/page/list/view.ts'

const workspace = (name: string, fields: Partial<WireWorkspace> = {}): WireWorkspace => ({
  name,
  status: 'running',
  created_at: '2026-01-01T00:00:00Z',
  repo: '',
  backend: 'docker',
  container_id: '',
  ...fields,
})
const ALL = [
  workspace('web-10', { repo: 'https://github.com/acme/web', created_at: '2026-01-03T00:00:00Z' }),
  workspace('web-9', { status: 'stopped', backend: 'qemu' }),
  workspace('API', {
    repo: 'https://github.com/acme/api',
    created_at: '2026-01-02T00:00:00Z',
    labels: { team: 'core' },
  }),
]
const FIGURES = {
  usage: new Map([
    ['web-10', [{ cpuPercent: 5, memoryBytes: 30 }]],
    ['API', [{ cpuPercent: null, memoryBytes: 90 }]],
  ]),
  diskBytes: new Map([['web-9', 7]]),
}
const namesOf = (view: Partial<typeof FIRST_VIEW>): readonly string[] =>
  selectRows(ALL, { ...FIRST_VIEW, ...view }, FIGURES).map(({ name }) => name)

test.each<[Column, readonly string[]]>([
  ['name', ['API', 'web-9', 'web-10']],
  ['status', ['API', 'web-10', 'web-9']],
  ['backend', ['API', 'web-10', 'web-9']],
  ['repo', ['web-9', 'API', 'web-10']],
  ['age', ['web-10', 'API', 'web-9']],
  ['cpu', ['API', 'web-9', 'web-10']],
  ['memory', ['web-9', 'web-10', 'API']],
  ['disk', ['API', 'web-10', 'web-9']],
])('the list is sorted by %s, then by name', (column, names) => {
  expect(namesOf({ column })).toEqual(names)
})

test('the list is sorted in reverse', () => {
  expect(namesOf({ isDescending: true })).toEqual(['web-10', 'web-9', 'API'])
})

test.each([
  ['web', ['web-9', 'web-10']],
  ['acme API', ['API']],
  ['QEMU', ['web-9']],
  ['web api', []],
  ['team=core', ['API']],
  ['  ', ['API', 'web-9', 'web-10']],
])('the filter %j matches rows with all of its words', (text, names) => {
  expect(namesOf({ text })).toEqual(names)
})

test('a column is first sorted in its natural order and reversed when selected again', () => {
  expect(sortBy(FIRST_VIEW, 'memory')).toMatchObject({ column: 'memory', isDescending: true })
  expect(sortBy(FIRST_VIEW, 'repo')).toMatchObject({ column: 'repo', isDescending: false })
  expect(sortBy(FIRST_VIEW, 'name')).toMatchObject({ column: 'name', isDescending: true })
})

test('the list shows only one status', () => {
  expect(namesOf({ status: 'stopped' })).toEqual(['web-9'])
})
