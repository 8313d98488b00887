import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import type { ApiClient } from '../../../../src/workspace/backend/kubernetes/api/api-client.ts'
import { followObjects } from '../../../../src/workspace/backend/kubernetes/api/list-watch.ts'
import { anySchema } from '../../../../src/workspace/backend/kubernetes/api/objects.ts'
import { fakeApi, objectOf, refuse, send } from '../../../support/cluster/fake-api.ts'

/** Follows objects until the test ends, and records what is reported. */
function follow(client: ApiClient, times: { readonly stallMs?: number; readonly lostAfterMs?: number } = {}) {
  const reported: string[] = []
  const stopped = new AbortController()
  const following = followObjects(
    client,
    { schema: anySchema, path: '/pods', selector: 'x=y', ...times },
    {
      onList: (objects) => reported.push(`list ${objects.map(({ metadata }) => metadata.name).join(' ')}`),
      onChange: ({ metadata }, isDeleted) =>
        reported.push(`${isDeleted ? 'deleted' : 'changed'} ${metadata.name}`),
      onLost: () => reported.push('lost'),
      onBack: () => reported.push('back'),
    },
    stopped.signal,
  )
  onTestFinished(async () => {
    stopped.abort()
    await following
  })
  return reported
}

function list(response: ServerResponse, version: string, ...names: readonly string[]): void {
  send(response, 200, { metadata: { resourceVersion: version }, items: names.map((name) => objectOf(name)) })
}

function event(response: ServerResponse, type: string, object: object): void {
  response.write(`${JSON.stringify({ type, object })}\n`)
}

test('a watch that ends continues at its last bookmark, without another list', async () => {
  const { client, requests } = await fakeApi((_, response, count) => {
    if (count === 1) return list(response, '10', 'a')
    if (count > 2) return
    event(response, 'ADDED', objectOf('b', '11'))
    event(response, 'DELETED', objectOf('a', '12'))
    event(response, 'BOOKMARK', { metadata: { resourceVersion: '20' } })
    response.end()
  })
  const reported = follow(client)
  await expect.poll(() => requests.length).toBe(3)
  expect(reported).toEqual(['list a', 'changed b', 'deleted a'])
  expect(requests.map(({ query }) => query.get('resourceVersion'))).toEqual([null, '10', '20'])
  expect(requests[1]?.query.get('allowWatchBookmarks')).toBe('true')
})

test('a watch whose events are no longer available lists again', async () => {
  const { client, requests } = await fakeApi((_, response, count) => {
    if (count === 1) return list(response, '10', 'a')
    if (count === 2) return event(response, 'ERROR', { code: 410, reason: 'Expired' })
    if (count === 3) return list(response, '90', 'c')
  })
  const reported = follow(client)
  await expect.poll(() => requests.length).toBe(4)
  expect(reported).toEqual(['list a', 'list c'])
  expect(requests[3]?.query.get('resourceVersion')).toBe('90')
})

test('a silent watch is opened again', async () => {
  const { client, requests } = await fakeApi((_, response, count) => {
    if (count === 1) return list(response, '10')
    response.writeHead(200).flushHeaders()
    if (count === 3) event(response, 'ADDED', objectOf('b', '11'))
  })
  const reported = follow(client, { stallMs: 200 })
  await expect.poll(() => reported).toEqual(['list ', 'changed b'])
  expect(requests[2]?.query.get('resourceVersion')).toBe('10')
})

test('a watch that is cut off in the middle of an event loses nothing', async () => {
  const { client } = await fakeApi((_, response, count) => {
    if (count === 1) return list(response, '10')
    response.writeHead(200)
    if (count === 2) return void response.write('{"type": "ADD', () => response.destroy())
    event(response, 'ADDED', objectOf('b', '11'))
  })
  const reported = follow(client)
  await expect.poll(() => reported).toEqual(['list ', 'changed b'])
})

test('an absent server is reported once, and when it is back', async () => {
  let isAway = true
  const { client } = await fakeApi((_, response, count) => {
    if (count === 1) return list(response, '10')
    if (isAway) return void response.destroy()
    response.writeHead(200).flushHeaders()
  })
  const reported = follow(client, { lostAfterMs: 0 })
  await expect.poll(() => reported).toEqual(['list ', 'lost'])
  isAway = false
  await expect.poll(() => reported).toEqual(['list ', 'lost', 'back'])
})

test('a refusal is reported at once', async () => {
  const { client } = await fakeApi((_, response) => refuse(response, 403, 'Forbidden'))
  const reported = follow(client)
  await expect.poll(() => reported).toEqual(['lost'])
})
