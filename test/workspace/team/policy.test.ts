import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_LEVELS } from '../../../src/workspace/access-level.ts'
import { rounds, sample } from '../../support/rounds.ts'
import { startTeamServer, type TeamServer } from '../../support/workspace/server/team-server.ts'

/** The documented rights: a row for each route. */
const RIGHTS = new Map(
  [...readFileSync('docs/workspace/team.md', 'utf8').matchAll(/^\| `([A-Z]+ \/[^`]*)` \| `(\w+)` \|$/gm)].map(
    ([, route = '', right = '']) => [route, right],
  ),
)

/** Who acts, and what they have: a level for ana-demo, and rights for themselves. */
interface Actor {
  readonly level?: (typeof ACCESS_LEVELS)[number]
  readonly isAdministrator?: true
  /** Whether it is Ana with all her rights. */
  readonly isSelf?: true
}
const ACTORS: Readonly<Record<string, Actor>> = {
  '': { level: 'manage', isAdministrator: true },
  root: { level: 'manage', isAdministrator: true },
  ana: { level: 'manage', isSelf: true },
  reader: { level: 'read' },
  worker: { level: 'use' },
  manager: { level: 'manage' },
  colleague: { level: 'use' },
  member: {},
  visitor: {},
  'root, to read': { level: 'read' },
  'ana, to read': { level: 'read' },
  'ana, to use': { level: 'use' },
  'ana, elsewhere': {},
  'ana, here': { level: 'manage' },
  'worker, to manage': { level: 'use' },
}

/** Routes that decide for themselves. */
const OWN_ADMISSION = /\/proxy\/|\/api\/login|\/(?:health|ready)z$/

let team: TeamServer
let routes: readonly string[]

beforeAll(async () => {
  const worker = { role: 'member', groups: [] } as const
  team = await startTeamServer({
    root: 'administrator',
    ana: 'member',
    reader: 'guest',
    worker,
    manager: 'member',
    colleague: { role: 'guest', groups: ['devs'] },
    member: { role: 'member', groups: ['others'] },
    visitor: 'guest',
  })
  const ana = team.as('ana')
  for (const name of ['ana-demo', 'ana-other']) await ana('/api/workspaces', 'POST', { name })
  const shares = { reader: 'read', worker: 'use', manager: 'manage', 'group:devs': 'use' }
  await ana('/api/workspaces/ana-demo/access', 'PUT', { shares })
  await team.addToken('root, to read', 'root', { level: 'read' })
  await team.addToken('ana, to read', 'ana', { level: 'read' })
  await team.addToken('ana, to use', 'ana', { level: 'use' })
  await team.addToken('ana, elsewhere', 'ana', { workspaces: ['ana-other'] })
  await team.addToken('ana, here', 'ana', { workspaces: ['ANA-DEMO'] })
  await team.addToken('worker, to manage', 'worker', { level: 'manage' })
  const { body } = await team.as('')('/openapi.json')
  const paths = body.paths as Readonly<Record<string, object>>
  routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
})
afterAll(() => team.stop())

/** Sends a request that is refused right after its sender was admitted, if it could change anything. */
async function send(route: string, authorization: string | undefined, workspace: string) {
  const [method = '', pattern = ''] = route.split(' ')
  const path = pattern
    .replace('{name}', workspace)
    .replace('{user}', 'ana')
    .replace('{port}', '80')
    .replaceAll(/\{\w+\}/g, '1')
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const isBounded = method === 'DELETE' || path.endsWith('/wait')
  const controller = new AbortController()
  const response = await fetch(`${team.server.url}${path}${isBounded ? '?unknown=1' : ''}`, {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { body: '{' }),
    signal: controller.signal,
  })
  const { status } = response
  // Streams do not end.
  const text = status >= 400 ? await response.text() : ''
  controller.abort()
  return {
    status,
    text,
    code: text === '' ? '' : (JSON.parse(text) as { error: { code: string } }).error.code,
  }
}

function outcomeOf({ status, code }: { readonly status: number; readonly code: string }): string {
  if (status === 401) return 'unidentified'
  if (code === 'WORKSPACE_NOT_FOUND') return 'missing'
  return code === 'ACCESS_DENIED' ? 'denied' : 'admitted'
}

function expected(right: string, { level, isAdministrator, isSelf }: Actor): string {
  const wanted = ACCESS_LEVELS.findIndex((each) => each === right)
  if (wanted >= 0) {
    if (level === undefined) return 'missing'
    return ACCESS_LEVELS.indexOf(level) >= wanted ? 'admitted' : 'denied'
  }
  if (right === 'user' || isAdministrator === true) return 'admitted'
  return right === 'self' && isSelf === true ? 'admitted' : 'denied'
}

describe('the policy of a server with users', () => {
  const tried = () => sample(routes, 3).filter((each) => !OWN_ADMISSION.test(each))

  test('the documented routes are those of the server', () => {
    const hidden = ['GET /openapi.json', 'GET /reference', 'GET /reference/*']
    expect([...RIGHTS.keys()].filter((route) => !routes.includes(route))).toEqual(hidden)
    // What is not documented here requires an administrator, which is intended for these.
    const others = routes.filter((route) => !RIGHTS.has(route) && !OWN_ADMISSION.test(route))
    expect(others.filter((route) => route.includes('/api/workspaces'))).toEqual([])
    expect(others.length).toBeGreaterThan(15)
  })

  test('W13 every user gets from every route what the table allows', async () => {
    const differences: string[] = []
    let compared = 0
    for (const route of tried())
      for (const [name, actor] of Object.entries(ACTORS)) {
        const answer = await send(route, team.authorizationOf(name), 'ana-demo')
        const right = RIGHTS.get(route) ?? 'administrator'
        const wanted = expected(right, actor)
        compared += 1
        if (outcomeOf(answer) !== wanted)
          differences.push(`${name || 'server'}: ${route} (${right}) is ${outcomeOf(answer)}, not ${wanted}`)
      }
    expect(differences).toEqual([])
    expect(compared).toBeGreaterThan(rounds(300, 900))
    for (const name of ['ana-demo', 'ana-other'])
      expect((await team.as('')(`/api/workspaces/${name}`)).status).toBe(200)
  })

  test('without a valid token, everything is refused', async () => {
    const invalid = [undefined, 'Bearer', 'Bearer x', `Bearer wst_${'A'.repeat(43)}`, 'Basic YW5hOng=']
    for (const route of tried())
      for (const authorization of invalid)
        expect([route, outcomeOf(await send(route, authorization, 'ana-demo'))]).toEqual([
          route,
          'unidentified',
        ])
  })

  test('W13 a workspace that someone may not see is the same as one that does not exist', async () => {
    for (const route of sample(routes, 3).filter((each) => each.includes('{name}')))
      for (const actor of ['member', 'visitor', 'ana, elsewhere']) {
        const authorization = team.authorizationOf(actor)
        const hidden = await send(route, authorization, 'ana-demo')
        const missing = await send(route, authorization, 'ana-none')
        expect([actor, route, hidden.status, hidden.text]).toEqual([
          actor,
          route,
          missing.status,
          missing.text.replaceAll('ana-none', 'ana-demo'),
        ])
      }
  })
})
