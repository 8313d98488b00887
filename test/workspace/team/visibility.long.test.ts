import { fc } from '../../support/fast-check.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startTeamServer, type TeamServer } from '../../support/workspace/server/team-server.ts'
import { waitFor } from '../../support/wait-for.ts'

const LEVELS = ['read', 'use', 'manage'] as const
type Level = (typeof LEVELS)[number]
const MEMBERS = ['ana', 'bob'] as const
/** Cara is a guest, and one of the developers. */
const USERS = [...MEMBERS, 'cara', 'root'] as const
type User = (typeof USERS)[number]
const SHARED_WITH = ['ana', 'bob', 'cara', 'group:devs', 'group:others'] as const

interface Model {
  readonly owner: string
  readonly shares: Partial<Record<string, Level>>
}

const nameOf = (owner: string, number: number) => `${owner}-${number}`
const name = fc
  .tuple(fc.constantFrom(...MEMBERS), fc.integer({ min: 1, max: 2 }))
  .map(([owner, n]) => nameOf(owner, n))
const by = fc.constantFrom(...USERS)
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('create' as const), by, name }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('share' as const),
      by,
      name,
      shares: fc.dictionary(fc.constantFrom(...SHARED_WITH), fc.constantFrom(...LEVELS), { maxKeys: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('label' as const), by, name }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), by, name }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

function levelOf(user: User, workspace: Model | undefined): Level | undefined {
  if (workspace === undefined) return undefined
  if (user === 'root' || workspace.owner === user) return 'manage'
  const keys = user === 'cara' ? ['cara', 'group:devs'] : [user]
  return LEVELS.findLast((level) => keys.some((key) => workspace.shares[key] === level))
}

/** Returns the code that an action is answered with; undefined for success. */
function expected({ does, by: user, name: target }: Action, models: ReadonlyMap<string, Model>) {
  if (does === 'create') {
    if (user === 'cara') return 'ACCESS_DENIED'
    if (user !== 'root' && !target.startsWith(`${user}-`)) return 'ACCESS_DENIED'
    return models.has(target) ? 'WORKSPACE_ALREADY_EXISTS' : undefined
  }
  const level = levelOf(user, models.get(target))
  if (level === undefined) return 'WORKSPACE_NOT_FOUND'
  return level === 'manage' ? undefined : 'ACCESS_DENIED'
}

let team: TeamServer
const backend = new FakeBackend()
beforeAll(async () => {
  team = await startTeamServer(
    {
      root: 'administrator',
      ana: 'member',
      bob: 'member',
      cara: { role: 'guest', groups: ['devs'] },
    },
    { backends: () => [backend] },
  )
})
afterAll(() => team.stop())

/** Follows the event stream of a user, and keeps what it shows. */
async function follow(user: User) {
  const controller = new AbortController()
  const response = await fetch(`${team.server.url}/api/events`, {
    headers: { authorization: team.authorizationOf(user) },
    signal: controller.signal,
  })
  const shown = new Set<string>()
  const seen: string[] = []
  const show = (data: string): void => {
    const event = JSON.parse(data) as {
      readonly workspaces?: readonly { readonly name: string }[]
      readonly type?: string
      readonly name?: string
      readonly workspace?: { readonly name: string }
    }
    for (const each of event.workspaces ?? []) shown.add(each.name)
    if (event.type === 'deleted') shown.delete(event.name ?? '')
    else if (event.workspace !== undefined) shown.add(event.workspace.name)
  }
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let pending = ''
    for await (const chunk of response.body ?? []) {
      const lines = (pending + decoder.decode(chunk, { stream: true })).split('\n')
      pending = lines.pop() ?? ''
      seen.push(...lines)
      for (const line of lines) if (line.startsWith('data: ')) show(line.slice('data: '.length))
    }
  }
  const ended = read().catch(() => undefined)
  return {
    shown,
    text: () => seen.join('\n'),
    async end() {
      controller.abort()
      await ended
    },
  }
}

function act({ does, by: user, name: target, ...rest }: Action) {
  const path = `/api/workspaces/${target}`
  const requests = {
    create: ['/api/workspaces', 'POST', { name: target }],
    share: [`${path}/access`, 'PUT', rest],
    label: [path, 'PATCH', { labels: { canary: `of-${target}` } }],
    delete: [path, 'DELETE', undefined],
  } as const
  const [where, method, body] = requests[does]
  return team.as(user)(where, method, body)
}

function apply({ does, by: user, name: target, ...rest }: Action, models: Map<string, Model>): void {
  if (does === 'create') models.set(target, { owner: user, shares: {} })
  if (does === 'delete') models.delete(target)
  const before = models.get(target)
  if (does === 'share' && before !== undefined && 'shares' in rest)
    models.set(target, { ...before, shares: rest.shares })
}

describe('what users see of each other', () => {
  test('W13 it is what was shared with them, in lists, errors and events', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
        const models = new Map<string, Model>()
        const everSeen = new Map(USERS.map((user) => [user, new Set<string>()]))
        const streams = await Promise.all(USERS.map(async (user) => [user, await follow(user)] as const))
        try {
          for (const each of actions) {
            const code = expected(each, models)
            const answer = await act(each)
            expect([each, answer.body?.error?.code]).toEqual([each, code])
            if (code === undefined) apply(each, models)
            for (const user of USERS) {
              const wanted = [...models].flatMap(([key, model]) => (levelOf(user, model) ? [key] : []))
              for (const key of wanted) everSeen.get(user)?.add(key)
              const { body } = await team.as(user)('/api/workspaces')
              const listed = (body.workspaces as readonly { readonly name: string }[]).map((one) => one.name)
              expect([user, listed.toSorted()]).toEqual([user, wanted.toSorted()])
            }
          }
          for (const [user, stream] of streams) {
            const wanted = [...models].flatMap(([key, model]) => (levelOf(user, model) ? [key] : []))
            await waitFor(
              `the events of ${user}`,
              () => [...stream.shown].toSorted().join() === wanted.toSorted().join(),
            )
            const never = MEMBERS.flatMap((owner) => [nameOf(owner, 1), nameOf(owner, 2)]).filter(
              (key) => everSeen.get(user)?.has(key) === false,
            )
            // Nothing else of it either: IDs would count the changes of others.
            expect(never.filter((key) => stream.text().includes(key))).toEqual([])
            expect(/^id:/m.test(stream.text())).toBe(false)
          }
        } finally {
          for (const [, stream] of streams) await stream.end()
          for (const key of models.keys()) await team.as('')(`/api/workspaces/${key}`, 'DELETE')
        }
      }),
      { numRuns: 40 },
    )
  })

  test('sessions and usage are those of visible workspaces', async () => {
    const ana = team.as('ana')
    onTestFinished(async () => void (await ana('/api/workspaces/ana-1', 'DELETE')))
    expect((await ana('/api/workspaces', 'POST', { name: 'ana-1' })).status).toBe(201)
    const { body } = await ana('/api/workspaces/ana-1')
    backend.loadsNow.set(body.container_id as string, { cpuMs: 1, memoryBytes: 1 })
    const usageOf = async (user: User) => JSON.stringify((await team.as(user)('/api/usage')).body)
    expect(await usageOf('ana')).toContain('ana-1')
    expect(await usageOf('bob')).not.toContain('ana-1')
    expect((await team.as('bob')('/api/sessions')).body).toEqual({ sessions: [] })
  })
})
