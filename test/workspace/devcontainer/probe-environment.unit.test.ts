import { expect, test } from 'vitest'
import { mergePaths } from '../../../src/workspace/devcontainer/probe-environment.ts'
import { fc } from '../../support/fast-check.ts'

const CONTAINER = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The PATH that Debian's /etc/profile sets for a user. */
const USER = '/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games'

test.each([
  [CONTAINER, CONTAINER, CONTAINER],
  [USER, CONTAINER, `${CONTAINER}:/usr/local/games:/usr/games`],
  [`${USER}:/opt/kit/bin`, CONTAINER, `${CONTAINER}:/usr/local/games:/usr/games:/opt/kit/bin`],
  [`/opt/kit/bin:${USER}`, CONTAINER, `/opt/kit/bin:${CONTAINER}:/usr/local/games:/usr/games`],
  [USER, `/mine:${USER}:/last`, `/mine:${USER}:/last`],
  ['/a', '/b', '/b:/a'],
])('%s and the container’s %s are merged to %s', (shell, container, merged) => {
  expect(mergePaths(shell, container)).toBe(merged)
})

test('no directory is lost or moved when two paths are merged', () => {
  const path = fc.uniqueArray(fc.constantFrom<string[]>('/a', '/b', '/c', '/d', '/e'), { minLength: 1 })
  fc.assert(
    fc.property(path, path, (shell, container) => {
      const merged = mergePaths(shell.join(':'), container.join(':')).split(':')
      expect(new Set(merged)).toEqual(new Set([...shell, ...container]))
      expect(merged).toHaveLength(new Set(merged).size)
      expect(merged.filter((each) => shell.includes(each))).toEqual(shell)
    }),
  )
})
