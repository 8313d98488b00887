import { expect, test } from 'vitest'
import { anySchema } from '../../../../src/workspace/backend/kubernetes/api/objects.ts'
import { fakeApi, objectOf, refuse, send } from '../../../support/cluster/fake-api.ts'

test('a list is read in pages', async () => {
  const { client, requests } = await fakeApi(({ query }, response) => {
    const isFirst = query.get('continue') === null
    const metadata = { resourceVersion: '7', ...(isFirst && { continue: 'next' }) }
    send(response, 200, { metadata, items: [objectOf(isFirst ? 'a' : 'b')] })
  })
  const { items, resourceVersion } = await client.list(anySchema, '/pods', { labelSelector: 'x=y' })
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
  expect(resourceVersion).toBe('7')
  expect(requests.map(({ query }) => query.get('limit'))).toEqual(['500', '500'])
  expect(requests.map(({ query }) => query.get('labelSelector'))).toEqual(['x=y', 'x=y'])
})

test('a list whose next page has expired begins again', async () => {
  const { client } = await fakeApi(({ query }, response, count) => {
    if (query.get('continue') === 'next' && count === 2) return refuse(response, 410, 'Expired')
    const metadata = { resourceVersion: '7', ...(query.get('continue') === null && { continue: 'next' }) }
    send(response, 200, { metadata, items: [objectOf(`object-${count}`)] })
  })
  const { items } = await client.list(anySchema, '/pods', {})
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['object-3', 'object-4'])
})

test('a request for which the server is too busy is repeated', async () => {
  const { client, requests } = await fakeApi((_, response, count) =>
    count < 3
      ? refuse(response, 429, 'TooManyRequests', { 'retry-after': '0' })
      : send(response, 200, objectOf('a')),
  )
  expect(await client.find(anySchema, '/pods/a')).toMatchObject({ metadata: { name: 'a' } })
  expect(requests).toHaveLength(3)
})

test('a request that must wait for longer than the client does fails at once', async () => {
  const { client, requests } = await fakeApi((_, response) =>
    refuse(response, 429, 'TooManyRequests', { 'retry-after': '3600' }),
  )
  await expect(client.find(anySchema, '/pods/a')).rejects.toMatchObject({ status: 429 })
  expect(requests).toHaveLength(1)
})

test('a creation whose answer was lost is not made twice', async () => {
  let created: unknown
  const { client, requests } = await fakeApi(({ method, body }, response, count) => {
    if (count === 1) {
      const { metadata } = JSON.parse(body) as { metadata: object }
      created = objectOf('a', '5', metadata)
      return void response.destroy()
    }
    if (method === 'POST') return refuse(response, 409, 'AlreadyExists')
    send(response, 200, created)
  })
  const object = await client.create(anySchema, '/pods', { metadata: { name: 'a' } })
  expect(object).toEqual(created)
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'GET'])
})

test('a creation under the name of another’s object fails', async () => {
  const { client } = await fakeApi(({ method }, response) =>
    method === 'POST'
      ? refuse(response, 409, 'AlreadyExists')
      : send(response, 200, objectOf('a', '5', { annotations: { 'workspace.dev/creation': 'another' } })),
  )
  const creating = client.create(anySchema, '/pods', { metadata: { name: 'a' } })
  await expect(creating).rejects.toMatchObject({ status: 409, code: 'BACKEND_ERROR' })
})

test('a deletion names the UID, and spares an object that was created since', async () => {
  const { client, requests } = await fakeApi((_, response) => refuse(response, 409, 'Conflict'))
  expect(await client.delete('/pods/a', 'uid-a', 1)).toBe(false)
  expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({
    preconditions: { uid: 'uid-a' },
    gracePeriodSeconds: 1,
  })
})

test('a server that does not answer is unavailable', async () => {
  const { client } = await fakeApi(() => undefined, { answerTimeoutMs: 50, retryForMs: 0 })
  await expect(client.find(anySchema, '/pods/a')).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
})

test('an answer of another form is refused', async () => {
  const { client } = await fakeApi((_, response) => send(response, 200, { metadata: { name: 1 } }))
  await expect(client.find(anySchema, '/pods/a')).rejects.toThrow('metadata must have required property')
})
