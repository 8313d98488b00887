import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../../../src/lib/http/server.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { openPage } from '../../support/browser/chromium.ts'
import { waitFor } from '../../support/wait-for.ts'

test('the reference page has the name of the program alone, and all that it loads is allowed', async () => {
  const server = createHttpServer({
    info: { title: 'The program', version: '1', description: 'a test' },
    logger: createLogger({ level: 'silent', format: 'json' }),
    allowedHosts: [],
    errors: { render: ({ code }) => ({ code }), schema: { $ref: 'Error' } },
  })
  server.app.addSchema({ $id: 'Error', type: 'object', properties: { code: { type: 'string' } } })
  server.app.get('/things/:name', {}, () => ({ name: 'a' }))
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.stop())
  const url = `http://127.0.0.1:${port}/reference/`
  const page = await openPage(url)
  const route = 'document.querySelector(".opblock-summary")'
  await waitFor('the routes', () => page.evaluate<boolean>(`${route} !== null`))
  await page.evaluate(`${route}.querySelector("button").click()`)
  await waitFor('the route', () => page.evaluate<boolean>('document.querySelector(".opblock-body") !== null'))
  expect(await page.evaluate('document.title')).toBe('The program')
  expect(await page.evaluate('document.body.innerText')).not.toMatch(/swagger|smartbear/i)
  expect(await page.evaluate('document.querySelectorAll("img, link[rel=icon][href*=png]").length')).toBe(0)
  expect(page.complaints).toEqual([])
  const policy = (await fetch(url)).headers.get('content-security-policy')
  expect(policy).not.toContain('upgrade-insecure-requests')
  expect(policy).toContain("frame-ancestors 'none'")
})
