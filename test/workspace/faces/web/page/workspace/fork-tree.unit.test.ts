import { expect, test } from 'vitest'
import type { WireWorkspace } from '../../../../../../src/workspace/api/workspace.ts'
import {
  type ForkTree,
  forkTreeOf,
} from '../../../../../../src/workspace/faces/web/page/workspace/fork-tree.ts'

/** Workspaces by name, each with its source. */
function world(sources: Readonly<Record<string, string | undefined>>): ReadonlyMap<string, WireWorkspace> {
  return new Map(
    Object.entries(sources).map(([name, source]) => [
      name,
      { name, ...(source !== undefined && { forked_from: source }) } as WireWorkspace,
    ]),
  )
}

/** A tree as `name(fork fork)`; a deleted workspace has a `-` before its name. */
function shape({ name, workspace, forks }: ForkTree): string {
  const below = forks.length === 0 ? '' : `(${forks.map(shape).join(' ')})`
  return `${workspace === undefined ? '-' : ''}${name}${below}`
}

const sources = { a: undefined, 'b-10': 'a', 'b-2': 'a', c: 'b-2', other: undefined, orphan: 'gone' }

test.each([
  ['a', 'a(b-2(c) b-10)'],
  ['c', 'a(b-2(c) b-10)'],
  ['orphan', '-gone(orphan)'],
])('the tree of %s is %s', (name, tree) => {
  const found = forkTreeOf(name, world(sources))
  expect(found && shape(found)).toBe(tree)
})

test('a workspace without a source and forks has no tree', () => {
  expect(forkTreeOf('other', world(sources))).toBeUndefined()
})

test('names that were used again do not make the tree endless', () => {
  const tree = forkTreeOf('a', world({ a: 'b', b: 'a', c: 'a' }))
  expect(tree && shape(tree)).toBe('b(a(c))')
})
