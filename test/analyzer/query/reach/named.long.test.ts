import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'

const source = readFileSync(join(packageRoot, 'test/fixtures/java/found/found/Program.java'), 'utf8')

/** Returns the classes, members and constructors that dead code lists, as the fixture prints them. */
async function deadIn(analyzer: TestAnalyzer): Promise<readonly string[]> {
  const { classes } = await analyzer.get('/dead', { size: 1000 })
  return classes.flatMap(({ classFqn, isDead, members }: any) => {
    const name = classFqn.replace('found.', '')
    if (isDead) return [name]
    return members.map((member: any) => (member.name === '<init>' ? name : `${name}#${member.name}`))
  })
}

/** Returns what the comment "dead" marks in the fixture. */
function deadInSource(): readonly string[] {
  let owner = ''
  const found: string[] = []
  const lines = source.split('\n')
  for (const [at, line] of lines.entries()) {
    owner = /^(?:public )?(?:class|record|enum|@interface) (\w+)/.exec(line)?.[1] ?? owner
    if (line.trim() !== '// dead') continue
    const marked = lines.slice(at + 1).find((each) => !each.trim().startsWith('@')) ?? ''
    const member = /(\w+)(?: = [^;]*)?;$|(\w+)\(/.exec(marked)
    found.push(
      line === '// dead' ? (/class (\w+)/.exec(marked)?.[1] ?? '') : `${owner}#${member?.[1] ?? member?.[2]}`,
    )
  }
  return found
}

describe('members that the platform finds by name', () => {
  let analyzer: TestAnalyzer
  beforeAll(async () => {
    analyzer = await startAnalyzer(projectOf('found'))
  })
  afterAll(() => analyzer.stop())

  test('are alive when a program that runs reaches them, and the others are dead', async () => {
    const classes = join(analyzer.root, 'target/classes')
    const printed = execFileSync('java', ['-cp', classes, 'found.Program'], { encoding: 'utf8' }).split('\n')
    const dead = await deadIn(analyzer)
    expect(printed.length).toBeGreaterThan(30)
    expect(dead.filter((each) => printed.includes(each))).toEqual([])
    expect(dead.toSorted()).toEqual(deadInSource().toSorted())
  })
})
