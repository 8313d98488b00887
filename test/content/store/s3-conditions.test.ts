import { beforeEach, expect, test, vi } from 'vitest'
import { changeObject } from '../../../src/content/store/change-object.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { type Conditions, fakeS3 } from '../../support/content/fake-s3.ts'

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'KEY')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  return () => vi.unstubAllEnvs()
})

/** Adds a letter to an object. */
function append(store: Store, letter: string): Promise<void> {
  return changeObject(store, {
    key: 'list',
    maxBytes: 1_000,
    change: async (bytes) => ({
      is: 'new',
      bytes: Buffer.concat([bytes ?? Buffer.alloc(0), Buffer.from(letter)]),
      result: undefined,
    }),
  })
}

test.each<Conditions>(['honored', 'plain'])(
  'F39 writers of one object lose nothing if the service has conditions that are %s',
  async (conditions) => {
    const { open, text } = await fakeS3(conditions)
    const letters = 'abcdefghij'.split('')
    await Promise.all(letters.map((letter) => append(open(), letter)))
    expect(text('list')?.split('').toSorted()).toEqual(letters)
  },
)

test.each<[Conditions, string]>([
  ['refused', '501 NotImplemented'],
  ['ignored', 'it ignores If-Match'],
  ['if-match ignored', 'it ignores If-Match'],
])('a service with conditions that are %s is refused with the remedy', async (conditions, why) => {
  const { open, text } = await fakeS3(conditions)
  await expect(append(open(), 'a')).rejects.toMatchObject({
    code: 'CONDITIONS_UNSUPPORTED',
    message: expect.stringMatching(new RegExp(`"docs".*${why}.*"store.conditional_writes" to false`)),
  })
  const store = open(false)
  const before = text('list') ?? ''
  for (const letter of ['b', 'c']) await append(store, letter)
  expect(text('list')).toBe(`${before}bc`)
})

test('a conflict with a write in progress counts as a lost race', async () => {
  const { open } = await fakeS3('conflict')
  const replacing = open().replace('list', Buffer.from('x'), undefined, { contentType: 'text/plain' })
  expect(await replacing).toBe('changed')
})
