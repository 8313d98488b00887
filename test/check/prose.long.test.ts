import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

/** Runs the prose check on one file with the given text. */
function check(name: string, text: string) {
  const file = join(tempDir(), name)
  writeFileSync(file, text)
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-prose.ts', file], {
    encoding: 'utf8',
  })
  return {
    status,
    lines: stderr
      .trim()
      .split('\n')
      .map((line) => line.slice(file.length + 1)),
  }
}

describe('the prose check', () => {
  test.each([
    ['a Markdown sentence', 'page.md', 'One.\n\nThe body is no JSON.\n', /^3: .*is no JSON/],
    ['a comment', 'code.ts', '// The caller is told.\nexport const a = 1\n', /^1: .*told/],
    [
      'a message',
      'code.ts',
      'export const a = 1\nexport const text = `the value ${a} is told`\n',
      /^2: .*told/,
    ],
    ['a test name', 'code.test.ts', "test('the guest is told anew', () => {})\n", /told/],
    [
      'an attribute of a page',
      'page.tsx',
      'export const a = <p title="What the server says of it">no</p>\n',
      /says/,
    ],
    ['the text of a page', 'page.tsx', 'export const a = <p>the server says so</p>\n', /says/],
    ['a type', 'code.ts', 'export interface SshCrew {}\n', /^1: .*"crew" in SshCrew/],
    ['a parameter', 'code.ts', 'export function f({ onNews }: any) { return onNews }\n', /"news" in onNews/],
    ['a path', 'port-door.ts', 'export {}\n', /"door" in port-door/],
    [
      'a docstring',
      'code.ts',
      'export {}\n/** What the store has. */\nexport const a = 1\n',
      /^2: .*begins with "What"/,
    ],
    ['a comment in C++', 'code.cc', 'int a; // whoever asks\n', /^1: .*whoever/],
    ['an HTML page', 'page.html', '<p>the server says so</p>\n', /says/],
    ['a comment in a unit file', 'a.service', '# Whoever asks.\n[Unit]\n', /^1: .*Whoever/],
    ['a comment in a script', 'step.sh', 'a=1\n# Whoever asks is told.\n', /^2: .*told/],
  ])('reports a listed word in %s', (_, name, text, line) => {
    const { status, lines } = check(name, text)
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(line)]))
    expect(status).toBe(1)
  })

  test.each([
    ['code in Markdown', 'page.md', 'Run `told`:\n\n```sh\nwhoever\n```\n'],
    [
      'code beside prose',
      'code.ts',
      "export const key = 'told'\nconst x = Math.floor(1)\nexport { x as floor }\n",
    ],
    ['a name in backticks', 'code.ts', '// `whoever` is a command.\nexport {}\n'],
    ['"there is no"', 'page.md', 'There is no such workspace, and it is no longer running.\n'],
  ])('accepts %s', (_, name, text) => {
    expect(check(name, text)).toEqual({ status: 0, lines: [''] })
  })
})
