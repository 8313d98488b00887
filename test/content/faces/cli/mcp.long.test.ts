import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { agentTools } from '../../../../src/content/faces/cli/mcp/tools.ts'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { loadedPackages } from '../../../support/check/loaded-packages.ts'
import { ACCESS, HIDDEN, startAccessSite } from '../../../support/content/access-site.ts'
import { addServiceToken } from '../../../support/content/service-token.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const PROGRAM = join(packageRoot, 'src/bin/content-server.ts')

type Environment = Readonly<Record<string, string>>

/** An agent with the protocol's own client; `ask` and `fail` return the text of an answer or error. */
async function agentOf(environment: Environment, ...more: readonly string[]) {
  const client = new Client({ name: 'test', version: '1' })
  const dir = tempDir()
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, ...environment }
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, 'mcp', ...more],
      cwd: dir,
      env,
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  const call = async (isError: true | undefined, name: string, given: Record<string, unknown> = {}) => {
    const answer = await client.callTool({ name, arguments: given })
    expect(answer.isError, JSON.stringify(answer.content)).toBe(isError)
    return (answer.content as [{ text: string }])[0].text
  }
  const ask = (name: string, given?: Record<string, unknown>) => call(undefined, name, given)
  const fail = (name: string, given?: Record<string, unknown>) => call(true, name, given)
  return { client, ask, fail }
}

const WORDS = Array.from({ length: 2_000 }, (_, i) => `word${i}`)

/** A site with a long page, and a token for some of its repositories. */
async function siteFor(repos: readonly string[]) {
  const site = await startAccessSite(ACCESS.nobody)
  const page = `<main><h1 id=top>Long</h1><p>${WORDS.slice(0, 1_000).join('<p>')}<h2 id="s two">no</h2><h2 id=two>Two</h2><p>${WORDS.slice(1_000).join(' ')}</main>`
  await site.store.write('repos/shared/2.0/long.html', Buffer.from(page), { contentType: 'text/html' })
  const { secret, revoke } = await addServiceToken(site.dir, repos)
  return { site, revoke, environment: { CONTENT_SERVER_URL: site.url, CONTENT_SERVER_TOKEN: secret } }
}

test('an agent finds and reads what its token may read, and nothing else', async () => {
  const { environment, revoke } = await siteFor(['shared'])
  const { client, ask, fail } = await agentOf(environment)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(agentTools.map(({ tool }) => tool.name))
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)

  expect(await ask('list_repos')).toMatch(/^repositories:\n[^]*open[^]*shared/)
  expect(await ask('list_pages', { repo: 'shared' })).toMatch(/\/repos\/shared\/2\.0\/0\.html/)
  expect(await ask('search', { query: 'salad' })).toMatch(/\/repos\/shared\/2\.0\/0\.html/)
  expect(await ask('read_page', { page: '/repos/shared/2.0/' })).toBe('shared page\n')
  expect(await ask('read_page', { page: `${environment.CONTENT_SERVER_URL}/shared` })).toBe('shared page\n')
  for (const [name, given] of [
    ['list_repos', {}],
    ['search', { query: 'salary' }],
    ['search', { query: 'the', repo: HIDDEN }],
  ] as const)
    expect(await ask(name, given)).not.toMatch(/hr|secret|salary/)
  const hidden = [
    ['list_pages', { repo: HIDDEN }, `no repository has the name "${HIDDEN}"`],
    ['read_page', { page: `/repos/${HIDDEN}/2.0/` }, `no page is published at "/repos/${HIDDEN}/2.0/"`],
    ['read_page', { page: '/repos/none/2.0/' }, 'no page is published at "/repos/none/2.0/"'],
    ['read_page', { page: '/notes.html' }, 'no page is published at "/notes.html"'],
    ['read_page', { page: 'https://evil.example/x' }, /is not a page of/],
    ['read_page', { page: '//evil.example/x' }, /is not a page of/],
    ['read_page', {}, 'parameter "page" is missing'],
  ] as const
  for (const [name, given, message] of hidden) {
    const text = await fail(name, given)
    if (typeof message === 'string') expect(text).toBe(message)
    else expect(text).toMatch(message)
  }
  await revoke()
})

test('sections are read by their ids, and offsets reach all of a long page', async () => {
  const { environment, revoke } = await siteFor(['shared'])
  const { ask, fail } = await agentOf(environment, '--max-tokens', '300')
  const page = '/repos/shared/2.0/long.html'
  const section = await ask('read_page', { page: `${page}#two` })
  expect(section).toMatch(/^## Two \{#two\}\n\nword1000 /)
  expect(await ask('read_page', { page, section: 'two' })).toBe(section)
  expect(await ask('read_page', { page: `${page}#top`, section: '#two' })).toBe(section)
  expect(await fail('read_page', { page: `${page}#none` })).toBe(
    `${page} has no section "none"; its sections: top, two`,
  )
  const seen: string[] = []
  let offset: number | undefined = 0
  let whole = ''
  for (let parts = 0; offset !== undefined && parts < 200; parts++) {
    const text = await ask('read_page', { page, offset })
    expect(text.length).toBeLessThanOrEqual(3 * 300)
    const [, shown = text, next] =
      /^([^]*?)\n… \d+ more characters; continue with offset=(\d+)$/.exec(text) ?? []
    whole += next === undefined ? shown : `${shown}\n`
    offset = next === undefined ? undefined : Number(next)
  }
  // A long line may be split inside a word.
  for (const [, word = ''] of whole.matchAll(/^(word\d+)$/gm)) seen.push(word)
  expect(seen).toEqual(expect.arrayContaining(WORDS.slice(0, 1_000)))
  expect(whole.replace(/\s/g, '')).toContain(WORDS.slice(1_000).join(''))
  expect(await fail('read_page', { page, offset: 10_000_000 })).toMatch(/choose a smaller offset$/)
  await revoke()
})

test('a revoked token, a stopped server and another server are reported', async () => {
  const { environment, revoke, site } = await siteFor(['*'])
  const file = join(tempDir(), 'token')
  writeFileSync(file, `${environment.CONTENT_SERVER_TOKEN}\n`, { mode: 0o600 })
  const { ask, fail } = await agentOf({}, '--url', site.url, '--token-file', file)
  expect(await ask('list_repos')).toContain(HIDDEN)
  writeFileSync(file, 'cst_of-another-server-0000000000000\n')
  expect(await fail('list_repos')).toMatch(/^the service token has expired/)
  writeFileSync(file, 'not a service token at all\n')
  expect(await fail('list_repos')).toMatch(/does not contain a service token/)
  await revoke()
  await site.running.stop()
  writeFileSync(file, `${environment.CONTENT_SERVER_TOKEN}\n`)
  expect(await fail('list_repos')).toMatch(/^no content server responds at http/)
})

test('the token is not sent to the target of a redirect', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.writeHead(302, { location: '/elsewhere' }).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const environment = { CONTENT_SERVER_URL: `http://127.0.0.1:${port}`, CONTENT_SERVER_TOKEN: 'cst_secret' }
  const { fail } = await agentOf(environment)
  expect(await fail('list_repos')).toMatch(/is not a content server/)
  expect(asked).toEqual(['/_api/repos'])
})

test.each([
  [{}, [], /no server is selected; pass --url/],
  [{ CONTENT_SERVER_URL: 'docs' }, [], /CONTENT_SERVER_URL is "docs", which is not a URL/],
  [{ CONTENT_SERVER_TOKEN: 'cst_x' }, ['--url', 'file:///x'], /--url is "file:\/\/\/x", which is not a URL/],
  [{ CONTENT_SERVER_TOKEN: 'other' }, ['--url', 'http://127.0.0.1:1'], /no service token is given/],
] as const)('without a server or token (%j %j) the command fails', async (environment, words, message) => {
  const dir = tempDir()
  // A project's configuration is not read.
  writeFileSync(join(dir, 'content-server.yaml'), 'url: http://127.0.0.1:1\n')
  const env = { PATH: process.env['PATH'], HOME: dir, ...environment }
  const failed = await run(process.execPath, [PROGRAM, 'mcp', ...words], {
    cwd: dir,
    environment: env,
    timeoutMs: 60_000,
  })
  expect([failed.status, failed.stderr]).toEqual([1, expect.stringMatching(message)])
})

test('only mcp loads the modules of the protocol', async () => {
  const environment = {
    PATH: process.env['PATH'],
    HOME: tempDir(),
    CONTENT_SERVER_URL: 'http://127.0.0.1:1',
    CONTENT_SERVER_TOKEN: 'cst_x',
  }
  const sdk = '@modelcontextprotocol/sdk'
  expect(await loadedPackages('content-server', ['mcp'], environment)).toContain(sdk)
  expect(await loadedPackages('content-server', ['mcp', '--help'], environment)).not.toContain(sdk)
})
