import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import {
  emptyProject,
  projectOf,
  startAnalyzer,
  type TestAnalyzer,
} from '../../../support/analyzer/analyzer-server.ts'

const source = readFileSync(join(packageRoot, 'test/fixtures/java/dead/dead/Program.java'), 'utf8')

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('dead'))
})
afterAll(() => analyzer.stop())

interface Listed {
  readonly classFqn: string
  readonly alive: readonly string[]
  /** Reason by member. */
  readonly dead: Readonly<Record<string, string>>
}

/** Returns what the comment before each class of the fixture lists. */
function listedInSource(): readonly Listed[] {
  const comments = source.matchAll(/^\/\*\*((?:(?!\*\/).|\n)*)\*\/\n(?:public )?(?:class|interface) (\w+)/gm)
  return Array.from(comments, ([, comment = '', name = '']) => ({
    classFqn: `dead.${name}`,
    alive: Array.from(comment.matchAll(/\balive ([\w<>]+)/g), ([, member = '']) => member).filter(
      (member) => member !== 'NAME',
    ),
    dead: Object.fromEntries(
      Array.from(comment.matchAll(/\bdead ([\w<>]+): (.*?)(?: \*?)?$/gm), ([, member = '', reason = '']) => [
        member,
        reason.trim(),
      ]).filter(([member]) => member !== 'NAME'),
    ),
  }))
}

async function deadIn(parameters = {}): Promise<readonly any[]> {
  return (await analyzer.get('/dead', { size: 1000, ...parameters })).classes
}

describe('dead code', () => {
  test('is what the comments of the fixture list, with its reasons', async () => {
    const found = await deadIn()
    const listed = listedInSource()
    expect(listed.length).toBeGreaterThan(10)
    expect(
      found.map(({ classFqn, isDead, reason, members }) => [
        classFqn,
        isDead
          ? { class: reason }
          : Object.fromEntries(members.map((member: any) => [member.name, member.reason])),
      ]),
    ).toEqual(
      listed
        .filter(({ dead }) => Object.keys(dead).length > 0)
        .toSorted((a, b) => (a.classFqn < b.classFqn ? -1 : 1))
        .map(({ classFqn, dead }) => [classFqn, dead]),
    )
  })

  test('is listed for each member of the fixture, and everything else is alive', async () => {
    const { classes } = await analyzer.get('/classes', { size: 1000 })
    const listed = new Map(listedInSource().map((each) => [each.classFqn, each]))
    for (const { fqn } of classes) {
      const about = listed.get(fqn)
      if (about === undefined || about.dead['class'] !== undefined || fqn === 'dead.Constants') continue
      const { classInfo } = await analyzer.get(`/classes/${fqn}`)
      const methods = classInfo.methods.filter(({ isSynthetic }: any) => !isSynthetic)
      const names: string[] = [...methods, ...classInfo.fields].map(({ name }: any) => name)
      const isNamed = (name: string): boolean => !name.startsWith('<')
      expect(new Set([...about.alive, ...Object.keys(about.dead)].filter(isNamed)), fqn).toEqual(
        new Set(names.filter(isNamed)),
      )
    }
  })

  test('has the kind, descriptor and line of members, counts and a note', async () => {
    const { classes, ...rest } = await analyzer.get('/dead', { size: 1 })
    expect(classes).toEqual([
      {
        classFqn: 'dead.Circle',
        isDead: false,
        reason: null,
        members: [
          {
            kind: 'method',
            name: 'radius',
            descriptor: '()D',
            lineNumber: expect.any(Number),
            reason: 'nobody calls it',
          },
        ],
      },
    ])
    expect(rest).toMatchObject({
      totalCount: 8,
      deadClassCount: 3,
      deadFieldCount: 4,
      rootCounts: { main: 1 },
      note: expect.stringMatching(
        /^3 dead classes, \d+ dead methods, 4 dead fields; followed \d+ methods from 1 root \(main 1\), without/,
      ),
    })
  })

  test('depends on the roots', async () => {
    const names = (classes: readonly any[]) => classes.map(({ classFqn }) => classFqn)
    expect(names(await deadIn({ from: 'main,dead.Unused' }))).not.toContain('dead.Unused')
    expect(names(await deadIn({ from: 'public' }))).toContain('dead.Square')
    const none = await analyzer.get('/dead', { from: 'test' })
    expect(none).toMatchObject({
      classes: [],
      note: expect.stringMatching(/^nothing is listed; no entry points/),
    })
  })

  test.each([
    ['/dead', {}],
    ['/reach', { to: 'dead.Unused' }],
  ])('is not judged by %s without any class of the project', { tags: ['long'] }, async (path, parameters) => {
    const empty = await startAnalyzer(emptyProject())
    onTestFinished(empty.stop)
    expect(await empty.ask(path, parameters)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/^no class of the project was read.*--classes DIR"$/) },
    })
  })

  test('by class hierarchy analysis is less, because any subtype may be called', async () => {
    const [rta, cha] = [await deadIn(), await deadIn({ analysis: 'cha' })]
    const isDead = (classes: readonly any[]) =>
      classes.some(({ classFqn, isDead: is }) => is && classFqn === 'dead.Square')
    expect([isDead(rta), isDead(cha)]).toEqual([true, false])
  })
})
