import { expect, test } from 'vitest'
import type { ServiceToken } from '../../../src/content/session/service-token.ts'
import type { SessionStore } from '../../../src/content/session/session-store.ts'

/** Tests that every store of sessions passes. @param open opens the store of a test, `again` from a second process */
export function tokenSuite(
  kind: string,
  open: () => Promise<{ readonly store: SessionStore; readonly again: () => Promise<SessionStore> }>,
): void {
  const token = (name: string, more: Partial<ServiceToken> = {}): ServiceToken => ({
    name,
    repos: ['guide', 'api-*'],
    createdMs: 1_000,
    expiresMs: Date.now() + 3_600_000,
    ...more,
  })

  test(`O9 ${kind} stores tokens, and another process finds, lists and revokes them`, async () => {
    const { store, again } = await open()
    const [ci, odd] = [token('ci'), token('__proto__')]
    expect(await store.addToken('digest-ci', ci)).toBe(true)
    expect(await store.addToken('digest-odd', odd)).toBe(true)
    const other = await again()
    expect(await other.findToken('digest-ci')).toEqual(ci)
    expect(await other.findToken('ci')).toBeUndefined()
    expect((await other.listTokens()).toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([odd, ci])
    expect([await other.removeToken('ci'), await other.removeToken('ci')]).toEqual([true, false])
    expect([await store.findToken('digest-ci'), await store.listTokens()]).toEqual([undefined, [odd]])
    await other.close()
  })

  test(`O9 ${kind} has one token of a name until it expires`, async () => {
    const { store, again } = await open()
    const other = await again()
    expect(await store.addToken('one', token('ci'))).toBe(true)
    expect(await other.addToken('two', token('ci'))).toBe(false)
    expect([await store.findToken('one'), await store.findToken('two')]).toMatchObject([
      { name: 'ci' },
      undefined,
    ])
    expect(await store.addToken('three', token('old', { expiresMs: Date.now() + 1 }))).toBe(true)
    // Its millisecond passes.
    while (!(await other.addToken('four', token('old'))));
    expect(await other.findToken('three')).toBeUndefined()
    expect(await other.findToken('four')).toMatchObject({ name: 'old' })
    expect(await store.removeToken('old')).toBe(true)
    expect(await other.findToken('four')).toBeUndefined()
    await other.close()
  })
}
