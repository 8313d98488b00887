import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

/** Runs the commit-msg hook's check on a message. */
function check(message: string, lines = 1) {
  const file = join(tempDir(), 'COMMIT_EDITMSG')
  writeFileSync(file, `${message}\n# A comment of Git's.\n`)
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-commits.ts', file, String(lines)], {
    encoding: 'utf8',
  })
  return { status, stderr }
}

describe('the commit message check', () => {
  test.each([
    [
      'a subject of 90 characters',
      `lib/http: ${'refuse '.repeat(12).slice(0, 80)}`,
      'must not be longer than 72',
    ],
    ['a list of changes', 'lib/http: refuse bodies; close sockets', 'name one change'],
    ['the past tense', 'lib/http: refused bodies without a length', 'imperative'],
    ['a participle', 'lib/http: refusing bodies without a length', 'imperative'],
    ['the third person', 'lib/http: refuses bodies without a length', 'imperative'],
    ['no area', 'refuse bodies without a length', 'begin with what it changes'],
    ['an area without a subject', 'lib/http: ', 'begin with what it changes'],
    ['a full stop', 'lib/http: refuse bodies without a length.', 'full stop'],
    ['a body that follows at once', 'lib/http: refuse bodies\nThey hang.', 'leading blank'],
  ])('refuses %s', (_, message, problem) => {
    const { status, stderr } = check(message)
    expect(stderr).toContain(problem)
    expect(status).toBe(1)
  })

  test.each([
    'workspace/bus: release the listener when its stream closes',
    'analyzer, content: name kinds in code once\n\nEvery use has its own kind now.',
    'test:all: pass reporters to vitest',
    'lib/http: address the race between close and end',
  ])('accepts %s', (message) => {
    expect(check(message)).toEqual({ status: 0, stderr: '' })
  })

  test('requires a body of a change of more than 100 lines', () => {
    expect(check('lib/http: refuse bodies without a length', 101).stderr).toContain('without a body')
    expect(check('lib/http: refuse bodies\n\nThey are ambiguous.', 101)).toEqual({ status: 0, stderr: '' })
    expect(check('lib/http: refuse bodies without a length', 100)).toEqual({ status: 0, stderr: '' })
  })
})
