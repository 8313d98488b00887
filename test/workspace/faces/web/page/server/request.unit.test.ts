import { afterEach, beforeEach, expect, test, vi } from 'vitest'

interface RequestModule {
  readonly missingTokens: {
    readonly value: ReadonlySet<string>
    readonly set: (missing: ReadonlySet<string>) => void
  }
  readonly request: (path: string) => Promise<Response>
  readonly setToken: (realm: string, token: string) => void
}

// Imported by a variable, so that Preact's DOM types are not added to every test.
const MODULE = '../../../../../../src/workspace/faces/web/page/server/request.ts'
const { missingTokens, request, setToken } = (await import(MODULE)) as RequestModule

const REFUSALS = {
  server: 'the token is not valid',
  bus: 'the header workspace-bus-token is missing or not valid',
} as const

let answers: ((realm: keyof typeof REFUSALS) => void)[]

beforeEach(() => {
  const kept = new Map<string, string>()
  answers = []
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  })
  vi.stubGlobal(
    'fetch',
    () =>
      new Promise<Response>((resolve) =>
        answers.push((realm) =>
          resolve(
            Response.json({ error: { code: 'UNAUTHORIZED', message: REFUSALS[realm] } }, { status: 401 }),
          ),
        ),
      ),
  )
  missingTokens.set(new Set())
})
afterEach(() => vi.unstubAllGlobals())

test.each(['server', 'bus'] as const)(
  'a late answer to an earlier %s token does not reject the one entered since',
  async (realm) => {
    setToken(realm, 'wrong')
    const requests = [request('/api/plugins'), request('/api/plugins')]
    answers[0]?.(realm)
    await expect(requests[0]).rejects.toMatchObject({ status: 401 })
    expect([...missingTokens.value]).toEqual([realm])
    setToken(realm, 'right')
    answers[1]?.(realm)
    await expect(requests[1]).rejects.toMatchObject({ status: 401 })
    expect([...missingTokens.value]).toEqual([])
    // The server asks again if the new token is also refused.
    const later = request('/api/plugins')
    answers[2]?.(realm)
    await expect(later).rejects.toMatchObject({ status: 401 })
    expect([...missingTokens.value]).toEqual([realm])
  },
)

test.each(['server', 'bus'] as const)('the %s token is requested when none is stored', async (realm) => {
  const asked = request('/api/plugins')
  answers[0]?.(realm)
  await expect(asked).rejects.toMatchObject({ status: 401 })
  expect([...missingTokens.value]).toEqual([realm])
})
