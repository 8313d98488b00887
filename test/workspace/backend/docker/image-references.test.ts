import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeLeftovers, TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer()
})
afterAll(() => server.stop())

const post = async (path: string, body: object) => {
  const answer = await server.api(path, 'POST', body)
  return [answer.status, answer.body?.error.code]
}

test.each([
  'MI',
  'a:b:c',
  'x/Y',
  'a//b',
  'a_',
  'a--b/',
  'a/-b',
  'a..b',
  '~x',
  'a:',
  '',
  ' ',
  'a'.repeat(300),
])('the reference %j never causes an internal error', async (reference) => {
  const fitting = [
    [400, 'INVALID_REQUEST'],
    [404, 'IMAGE_NOT_FOUND'],
  ]
  const name = uniqueName('reference')
  // Creating a workspace would mean that this test failed.
  expect(fitting).toContainEqual(await post('images/tag', { source: reference, target: 'x:1' }))
  expect(fitting).toContainEqual(await post('images/tag', { source: TEST_IMAGE, target: reference }))
  expect(fitting).toContainEqual(await post('images/pull', { docker_ref: reference }))
  if (reference !== '') expect(fitting).toContainEqual(await post('workspaces', { name, image: reference }))
  const path = encodeURIComponent(reference)
  if (path === '') return
  for (const [method, url] of [
    ['GET', `images/inspect/${path}`],
    ['DELETE', `images/${path}`],
  ] as const) {
    const { status, body } = await server.api(url, method)
    expect(fitting).toContainEqual([status, body.error.code])
  }
})

test.each(['127.0.0.1:1/nosuch:1', 'nosuch.invalid/nosuch:1'])(
  'a pull from %s, which cannot be reached, may be tried again',
  async (reference) => {
    expect(await post('images/pull', { docker_ref: reference })).toEqual([503, 'REGISTRY_UNAVAILABLE'])
    const name = uniqueName('unreachable')
    expect(await post('workspaces', { name, image: reference })).toEqual([503, 'REGISTRY_UNAVAILABLE'])
    await removeLeftovers(name)
  },
)
