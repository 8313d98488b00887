import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('dead'))
})
afterAll(() => analyzer.stop())

async function ask(body: object): Promise<{ status: number; body: any }> {
  const response = await fetch(`${analyzer.url}/api/v1/impact`, {
    method: 'POST',
    headers: { authorization: `Bearer ${analyzer.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

function changed(classFqn: string, name?: string, change = 'changed') {
  const members = name === undefined ? [] : [{ name, change }]
  return { classes: [{ classFqn, change: 'changed', isHeaderChanged: name === undefined, members }] }
}

describe('impact', () => {
  test('lists entry points with a shortest path to the change', async () => {
    const { body } = await ask(changed('dead.Statics', 'run'))
    expect(body).toMatchObject({ endpointCount: 1, testCount: 0, selection: [], changeCount: 1 })
    const [entry] = body.affected
    expect(entry).toMatchObject({
      kind: 'main',
      classFqn: 'dead.Program',
      member: 'main',
      change: { classFqn: 'dead.Statics', member: 'run', change: 'changed' },
    })
    expect(entry.steps.at(-1)).toMatchObject({ calleeFqn: 'dead.Statics', calleeName: 'run', via: 'call' })
    for (const [at, step] of entry.steps.entries())
      if (at > 0) expect(step.methodName).toBe(entry.steps[at - 1].calleeName)
  })

  test('agrees with reach about which methods main reaches', async () => {
    const { body: methods } = await ask({ ...changed('dead.Program', 'main'), of: 'method' })
    expect(methods.affected).toEqual([expect.objectContaining({ kind: 'method', member: 'main', steps: [] })])
    for (const name of ['used', 'unused']) {
      const { targets } = await analyzer.get('/reach', { to: `dead.Program#${name}`, from: 'main' })
      const { body } = await ask({ ...changed('dead.Program', name), from: 'main' })
      expect(body.endpointCount > 0, name).toBe(targets[0].status === 'reachable')
    }
  })

  test('of a class includes those who use the type, and of nothing is empty', async () => {
    const { body } = await ask({ ...changed('dead.Statics'), of: 'method', size: 1000 })
    const kinds = new Set(body.affected.flatMap(({ steps }: any) => steps.map(({ via }: any) => via)))
    expect(body.methodCount).toBeGreaterThan(2)
    expect(kinds).toContain('call')
    expect((await ask({})).body).toMatchObject({ affected: [], changes: [], methodCount: 0 })
  })

  test('of a file follows its lines, and reports files without classes', async () => {
    const { body: some } = await ask({ files: [{ path: 'src/dead/Program.java', lines: [[1, 1]] }] })
    const { body: all } = await ask({ files: [{ path: 'src/dead/Program.java' }] })
    expect(all.changeCount).toBeGreaterThan(10)
    // No method is in the first line.
    expect(some.changes).toEqual(all.changes)
    const { body } = await ask({
      files: [{ path: 'src/Missing.java' }, { path: 'pom.xml', isRemoved: true }],
    })
    expect(body.unknownFiles).toEqual(['src/Missing.java', 'pom.xml'])
  })

  test.each([
    [{ from: 'missing.Class' }, 404],
    [{ analysis: 'other' }, 400],
    [{ classes: [{ classFqn: 'a.A' }] }, 400],
    [{ files: [{ path: 'a', lines: [[1]] }] }, 400],
    [{ unknown: true }, 400],
  ])('refuses %j', async (body, status) => {
    expect((await ask(body)).status).toBe(status)
  })
})
