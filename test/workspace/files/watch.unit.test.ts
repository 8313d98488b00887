import { expect, test } from 'vitest'
import { changesBetween } from '../../../src/workspace/files/watch.ts'

const file = (inode: number, content = '1 a b', mode = 0o100_644) =>
  ({ mode, inode: String(inode), content }) as const
const directory = (inode: number) => file(inode, '', 0o040_755)

test.each([
  ['a new file', [], [['a', file(1)]], ['create a', 'write a']],
  ['an empty new file', [], [['a', file(1, '0 a b')]], ['create a']],
  ['a new directory', [], [['a', directory(1)]], ['create a']],
  ['a removed file', [['a', file(1)]], [], ['remove a']],
  ['a renamed file', [['a', file(1)]], [['b', file(1, '1 a c')]], ['rename a', 'create b']],
  ['a written file', [['a', file(1)]], [['a', file(1, '2 c d')]], ['write a']],
  ['a replaced file', [['a', file(1)]], [['a', file(2)]], ['write a']],
  ['changed permissions', [['a', file(1)]], [['a', file(1, '1 a c', 0o100_600)]], ['chmod a']],
  ['no change', [['a', file(1)]], [['a', file(1)]], []],
  [
    'a file that takes the place of another',
    [
      ['a', file(1)],
      ['b', file(2)],
    ],
    [['b', file(1, '1 a c')]],
    ['remove a', 'write b'],
  ],
] as const)('%s is reported', (_what, before, after, expected) => {
  const changes = changesBetween(new Map(before), new Map(after))
  expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(expected)
})
