import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../../../src/lib/http/server.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'

test('the description names schemas by their ids, types queries and gives every route its errors', async () => {
  const server = createHttpServer({
    info: { title: 'test', version: '1', description: 'a test' },
    logger: createLogger({ level: 'silent', format: 'json' }),
    allowedHosts: [],
    errors: { render: ({ code }) => ({ code }), schema: { $ref: 'Error' } },
  })
  server.app.addSchema({ $id: 'Error', type: 'object', properties: { code: { type: 'string' } } })
  server.app.addSchema({ $id: 'Thing', type: 'object', properties: { name: { type: 'string' } } })
  const limit = { type: 'integer', minimum: 1, maximum: 9 }
  const bytes = { type: 'integer', minimum: 0 }
  const lines = { ...limit, 'x-clamped': true, description: 'how many' }
  const querystring = { type: 'object', properties: { limit, bytes, lines } }
  const schema = { querystring, response: { 200: { $ref: 'Thing' } } }
  server.app.get('/things/:name', { schema }, () => ({ name: 'a' }))
  server.app.get('/plain', () => 'text')
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.stop())

  const { paths, components }: any = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json()
  expect(Object.keys(components.schemas)).toEqual(['Error', 'Thing'])
  const { operationId, parameters, responses } = paths['/things/{name}'].get
  expect(operationId).toBe('getThingsByName')
  expect(parameters).toContainEqual({ in: 'query', name: 'limit', required: false, schema: limit })
  const wide = { ...bytes, format: 'int64' }
  expect(parameters).toContainEqual({ in: 'query', name: 'bytes', required: false, schema: wide })
  // Valid above its maximum, as which it counts.
  expect(parameters).toContainEqual({
    in: 'query',
    name: 'lines',
    required: false,
    description: 'how many; a larger number counts as 9',
    schema: { type: 'integer', minimum: 1 },
  })
  const bodyOf = (response: any) => response.content['application/json'].schema.$ref
  expect(bodyOf(responses['200'])).toBe('#/components/schemas/Thing')
  for (const route of [responses, paths['/plain'].get.responses])
    for (const status of ['4XX', '5XX']) expect(bodyOf(route[status])).toBe('#/components/schemas/Error')
  expect(Object.keys(paths['/plain'].get.responses)).toContain('200')
})
