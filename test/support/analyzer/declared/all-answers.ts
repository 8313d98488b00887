import type { TestAnalyzer } from '../analyzer-server.ts'
import { postRules } from '../check-rules.ts'

/** An answer of a query, with the request that it answers. */
export interface Asked {
  readonly request: string
  readonly answer: unknown
}

/**
 * Asks every query about every declared class and method, in several ways.
 *
 * @param declared as `declaredNames`
 */
export async function allAnswers(
  analyzer: TestAnalyzer,
  declared: ReadonlySet<string>,
  types: readonly string[],
): Promise<readonly Asked[]> {
  const classes = [...declared].filter((name) => !name.includes('#'))
  const methods = [...declared].filter((name) => name.includes('#') && !name.endsWith('#<clinit>'))
  const asked: Asked[] = []
  const ask = async (path: string, parameters: Readonly<Record<string, string | number | boolean>> = {}) => {
    const { status, body } = await analyzer.ask(path, parameters)
    const request = `${path} ${JSON.stringify(parameters)}`
    if (status >= 500) throw new Error(`${request} responded with ${status}: ${JSON.stringify(body)}`)
    asked.push({ request, answer: body })
  }
  const at = (name: string): string => encodeURIComponent(name)
  const size = 5_000
  for (const path of ['/classes', '/methods', '/graph', '/graph/cycles', '/graph/foundation', '/duplicates'])
    await ask(path, path.startsWith('/graph') ? {} : { size })
  // The page with the graph needs a built script; it has the same classes.
  for (const format of ['dot', 'mermaid', 'graphml']) await ask('/graph', { format })
  await ask('/graph/cycles', { of: 'package' })
  await ask('/graph/foundation', { minDependents: 1 })
  for (const fqn of classes) {
    await ask(`/classes/${at(fqn)}`)
    await ask(`/calls/${at(fqn)}`)
    await ask(`/calls/${at(fqn)}`, { includeLambdas: true })
  }
  for (const fqn of [...classes, ...types]) {
    await ask(`/implementations/${at(fqn)}`)
    await ask(`/hierarchy/${at(fqn)}`)
    await ask(`/dependencies/${at(fqn)}`)
    await ask(`/dependencies/${at(fqn)}`, { includeLibraries: true })
    for (const declaredOnly of [false, true]) await ask(`/xref/${at(fqn)}`, { size, declared: declaredOnly })
    await ask(`/annotations/usages/${at(fqn)}`, { size })
  }
  for (const method of methods) {
    await ask(`/callers/${at(method)}`, { size })
    await ask(`/callers/${at(method)}`, { size, includeSubtypes: true })
    for (const from of [...classes.slice(0, 3), 'w.Shout#main'])
      if (from !== method) await ask('/path', { from, to: method, limit: 20 })
  }
  for (const from of ['auto', 'public', 'w.Shout#direct', 'w.Tariff'])
    for (const analysis of ['rta', 'cha']) {
      await ask('/dead', { from, analysis, size })
      await ask('/reach', { from, analysis, to: [...methods, ...classes].join(',') })
    }
  await askRules(analyzer, asked, types)
  await askImpact(analyzer, asked, classes)
  return asked
}

async function askRules(analyzer: TestAnalyzer, asked: Asked[], types: readonly string[]): Promise<void> {
  const reason = 'test'
  const rules = [
    { id: 'use', reason, mustNotUse: ['java..', 'w..'] },
    { id: 'only', reason, mayOnlyUse: ['no.such..'] },
    { id: 'used', reason, classes: types, mayOnlyBeUsedBy: ['no.such..'] },
    { id: 'call', reason, mustNotCall: ['java..#*', 'w..#*'] },
    { id: 'access', reason, mustNotAccess: ['java..#*', 'w..#*'] },
    { id: 'named', reason, mustBeNamed: ['No*'] },
    { id: 'annotated', reason, mustNotBeAnnotatedWith: types },
    { id: 'cycles', reason, noCycles: 'class' },
  ]
  for (const rule of rules) {
    const { status, body } = await postRules(analyzer, { rules: { rules: [rule] }, size: 10_000 })
    asked.push({ request: `rule ${rule.id} ${status}`, answer: body })
  }
}

async function askImpact(analyzer: TestAnalyzer, asked: Asked[], classes: readonly string[]): Promise<void> {
  const { url, token } = analyzer
  const files = ['Kind', 'Shout', 'Tariff'].map((name) => ({ path: `w/${name}.java` }))
  const lines = Array.from({ length: 200 }, (_, at) => [{ path: 'w/Shout.java', lines: [[at + 1, at + 1]] }])
  const changes = [
    {
      classes: classes.map((classFqn) => ({
        classFqn,
        change: 'changed',
        isHeaderChanged: true,
        members: [],
      })),
    },
    { files },
    ...lines.map((each) => ({ files: each })),
  ]
  for (const changed of changes)
    for (const level of ['method', 'entry']) {
      const response = await fetch(`${url}/api/v1/impact`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...changed, of: level, size: 5_000 }),
      })
      const answer = await response.json()
      if (response.status !== 200) throw new Error(`impact: ${response.status} ${JSON.stringify(answer)}`)
      asked.push({ request: `impact ${level} ${JSON.stringify(changed).slice(0, 80)}`, answer })
    }
}
