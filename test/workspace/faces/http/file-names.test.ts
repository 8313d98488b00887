import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { BusyBoxBackend } from '../../../support/workspace/backend/busybox-backend.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { answeredBytes, escaped, ODD_BYTES } from '../../../support/workspace/odd-names.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'fake', backend: () => new FakeBackend() },
  { kind: 'BusyBox', backend: () => new BusyBoxBackend(), isLong: true },
] as const

interface Answered {
  readonly name: string
  readonly name_encoded?: string
}

describeOn(KINDS, 'names of files', ({ backend }) => {
  const name = uniqueName('names')
  const dir = `/workspace/${name}`
  let server: TestServer
  const url = (route: string, query = '') => `${server.url}/api/workspaces/${name}/${route}?${query}`
  /** Both forms of a query for a file. */
  const forms = (at: string, each: string) => [
    `path=${at}/${escaped(each)}`,
    `path_encoded=${encodeURIComponent(`${at}/${escaped(each)}`)}`,
  ]
  const put = (query: string, body: string) =>
    fetch(url('files', query), {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/octet-stream' },
    })
  const statusOf = async (request: Promise<{ readonly status: number }>) => (await request).status
  /** Names in a directory as a program inside reads them, which is not the code that is tested. */
  const inside = async (at: string): Promise<ReadonlySet<string>> => {
    const command = `cd '${at}' && for f in * .[!.]*; do [ -e "$f" ] && printf '%s/' "$f"; done; true`
    const { body } = await call(url('exec'), 'POST', { command, encoding: 'base64' })
    return new Set(Buffer.from(body.stdout, 'base64').toString('latin1').split('/').filter(Boolean))
  }
  const listed = async (at: string): Promise<ReadonlySet<string>> => {
    const { body } = await call(url('files/list', `path=${at}`))
    const files = body.files as readonly Answered[]
    return new Set(files.map((each) => answeredBytes(each.name, each.name_encoded)))
  }
  const all = async (check: (each: string, index: number) => Promise<void>) => {
    await Promise.all(ODD_BYTES.map(check))
  }
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    await makeWorkspace(server.url, { name })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  test('any bytes are written, listed, described, read and removed', async () => {
    const at = `${dir}/both`
    await all(async (each, index) => {
      const query = forms(at, each)[index % 2]
      expect(await statusOf(put(`${query}&create_parents=true`, `content of ${each}`))).toBe(204)
    })
    expect(await inside(at)).toEqual(new Set(ODD_BYTES))
    expect(await listed(at)).toEqual(new Set(ODD_BYTES))
    await all(async (each) => {
      for (const query of forms(at, each)) {
        expect(await (await fetch(url('files', query))).text()).toBe(`content of ${each}`)
        const { body } = await call(url('files/stat', query))
        expect(answeredBytes(body.name, body.name_encoded)).toBe(each)
      }
    })
    await all(async (each, index) => {
      const query = forms(at, each)[index % 2] ?? ''
      expect(await statusOf(fetch(url('files', query), { method: 'DELETE' }))).toBe(204)
      expect(await statusOf(fetch(url('files', query)))).toBe(404)
    })
    expect(await inside(at)).toEqual(new Set())
  })

  test('a name in UTF-8 has no other form, and others are shown with U+FFFD', async () => {
    const at = `${dir}/forms`
    for (const each of ['%E9', '%C3%A9', '%25E9']) await put(`path=${at}/${each}&create_parents=true`, '')
    const { body } = await call(url('files/list', `path=${at}`))
    const files = body.files as readonly Answered[]
    const shown = files.map((each) => [each.name, each.name_encoded])
    expect(shown.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))).toEqual([
      ['%E9', undefined],
      ['é', undefined],
      ['\uFFFD', '%E9'],
    ])
  })

  test('directories with any bytes are created, listed, moved and removed', { tags: ['long'] }, async () => {
    const at = `${dir}/trees`
    const encoded = (each: string) => `${at}/${escaped(each)}`
    await all(async (each) => {
      const body = { path_encoded: `${encoded(each)}/${escaped(each)}` }
      expect(await statusOf(call(url('files/directory'), 'POST', body))).toBe(204)
    })
    expect(await inside(at)).toEqual(new Set(ODD_BYTES))
    await all(async (each) => {
      const { body } = await call(url('files/list', forms(at, each)[0]))
      expect(answeredBytes(body.path, body.path_encoded)).toBe(`${at}/${each}`)
      const [file] = body.files as readonly Answered[]
      expect(answeredBytes(file?.name ?? '', file?.name_encoded)).toBe(each)
      const move = { from_encoded: encoded(each), to_encoded: `${encoded(each)}.%E9` }
      expect(await statusOf(call(url('files/move'), 'POST', move))).toBe(204)
    })
    expect(await inside(at)).toEqual(new Set(ODD_BYTES.map((each) => `${each}.\xE9`)))
    await all(async (each) => {
      const query = `path=${encoded(each)}.%E9`
      expect(await statusOf(fetch(url('files', query), { method: 'DELETE' }))).toBe(409)
      expect(await statusOf(fetch(url('files', `${query}&recursive=true`), { method: 'DELETE' }))).toBe(204)
    })
    expect(await inside(at)).toEqual(new Set())
  })

  test('archives of directories with any bytes are read and extracted', { tags: ['long'] }, async () => {
    const [from, to] = [`path=${dir}/archived%E9%5C`, `path=${dir}/extracted%83%5C`]
    await put(`${from}/caf%E9.txt&create_parents=true`, 'content')
    const archive = await (await fetch(url('files/archive', from))).arrayBuffer()
    const request = { method: 'PUT', body: archive, headers: { 'content-type': 'application/octet-stream' } }
    expect(await statusOf(fetch(url('files/archive', `${to}&create_parents=true`), request))).toBe(204)
    expect(await (await fetch(url('files', `${to}/caf%E9.txt`))).text()).toBe('content')
  })

  test('a program starts in a directory of any name, with its own arguments and locale', async () => {
    const at = `${dir}/started`
    await all(async (each) => {
      const directory = `${at}/${escaped(each)}`
      await call(url('files/directory'), 'POST', { path_encoded: directory })
      const line = 'pwd; printf "%s|" "$LC_ALL" "$@"'
      const argv = ['sh', '-c', line, 'sh', 'é\\351\n', '']
      const body = { argv, cwd_encoded: directory, env: { LC_ALL: 'C.UTF-8' }, encoding: 'base64' }
      const { stdout } = (await call(url('exec'), 'POST', body)).body
      const printed = Buffer.from(stdout, 'base64').toString('latin1')
      expect(printed.endsWith(`${each}\nC.UTF-8|${Buffer.from('é\\351\n').toString('latin1')}||`)).toBe(true)
    })
    const { body } = await call(url('exec'), 'POST', { command: 'pwd', cwd: dir, cwd_encoded: dir })
    expect(body.error.code).toBe('INVALID_REQUEST')
  })

  test('a watch of any directory reports any name', { tags: ['long'] }, async () => {
    const at = `${dir}/watched`
    await call(url('files/directory'), 'POST', { path_encoded: `${at}%E9` })
    const leave = new AbortController()
    const response = await fetch(url('files/watch', `path=${at}%E9`), { signal: leave.signal })
    const missing = new Set(ODD_BYTES)
    let text = ''
    let hasBegun = false
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      if (!hasBegun) {
        hasBegun = true
        await all(async (each) => {
          await put(`path=${at}%E9/${escaped(each)}`, '')
        })
      }
      for (const event of events) {
        const change = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '{}')
        if (change.type === 'create') missing.delete(answeredBytes(change.path, change.path_encoded))
      }
      if (missing.size === 0) break
    }
    leave.abort()
    expect(missing).toEqual(new Set())
  })

  test.each([
    ['files/stat', ''],
    ['files/stat', 'path=a&path_encoded=a'],
    ['files/stat', 'path_encoded=%25'],
    ['files/stat', 'path_encoded=%25E'],
    ['files/stat', 'path_encoded=%2500'],
    ['files/stat', 'path=%00%E9'],
    ['files/stat', 'path=a&path=%E9'],
    ['files/list', 'path=%E9&other=1'],
  ])('%s?%s is refused', async (route, query) => {
    const { status, body } = await call(url(route, query))
    expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  })

  test('an error shows the name', async () => {
    const { body } = await call(url('files/stat', `path=${dir}/missing%E9`))
    expect(body.error.message).toContain(`${dir}/missing\uFFFD does not exist`)
  })

  test('".." in encoded bytes is resolved as in text', async () => {
    await put(`path=${dir}/resolved%E9/x&create_parents=true`, 'x')
    for (const query of [
      `path=${dir}/resolved%E9/%2E%2E/resolved%E9/x`,
      `path_encoded=${encodeURIComponent(`${dir}/a%2F%2e%2e%2fresolved%E9/x`)}`,
    ])
      expect(await (await fetch(url('files', query))).text()).toBe('x')
  })
})
