import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { BusyBoxBackend } from '../../../support/workspace/backend/busybox-backend.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
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

/** Names that a shell, an option parser, a line reader or a terminal could take for something else. */
const ODD_NAMES = [
  'a b',
  '-rf',
  '--help',
  '$HOME',
  '`id`',
  "it's",
  '"quoted"',
  '*',
  '..hidden',
  '.hidden',
  'new\nline',
  'tab\there',
  'back\\slash',
  'é ü 日本',
  ';true',
  '%s%n',
  'x'.repeat(255),
  '41ed 0 0 0 0 fake',
]

describeOn(KINDS, 'files of a workspace', ({ backend, kind }) => {
  const name = uniqueName('files')
  const dir = `/workspace/${name}`
  let server: TestServer
  const url = (path: string, query: Record<string, string> = {}) =>
    `${server.url}/api/workspaces/${name}/${path}?${new URLSearchParams(query).toString()}`
  const write = (path: string, content: string | Buffer<ArrayBuffer>, query: Record<string, string> = {}) =>
    fetch(url('files', { path, ...query }), {
      method: 'PUT',
      body: content,
      headers: { 'content-type': 'application/octet-stream' },
    })
  const read = (path: string, query: Record<string, string> = {}) => fetch(url('files', { path, ...query }))
  const run = async (command: string): Promise<string> =>
    (await call(url('exec'), 'POST', { command })).body.stdout as string
  const codeOf = async (response: Response): Promise<unknown> => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ]
  const list = async (path: string) => (await call(url('files/list', { path }))).body.files
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    await makeWorkspace(server.url, { name })
    await call(url('files/directory'), 'POST', { path: dir })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  test.each([0, 1, 65_536, 5_000_000])('%d bytes are read as they were written', async (size) => {
    const content = randomBytes(size)
    expect((await write(`${dir}/blob`, content)).status).toBe(204)
    const response = await read(`${dir}/blob`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(response.headers.get('content-disposition')).toBe('attachment')
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(digest(Buffer.from(await response.arrayBuffer()))).toBe(digest(content))
  })

  test('a part of a file can be read', async () => {
    await write(`${dir}/part`, '0123456789')
    const part = async (offset: string, length?: string) =>
      (await read(`${dir}/part`, { offset, ...(length !== undefined && { length }) })).text()
    expect(
      await Promise.all([
        part('0', '3'),
        part('4', '2'),
        part('7'),
        part('9', '50'),
        part('10'),
        part('99', '1'),
        part('2', '0'),
      ]),
    ).toEqual(['012', '45', '789', '9', '', '', ''])
  })

  test('files with odd names are written, listed, read, moved and removed', { tags: ['long'] }, async () => {
    const inside = `${dir}/odd`
    for (const each of ODD_NAMES) {
      const response = await write(`${inside}/${each}`, `content of ${each}`, { create_parents: 'true' })
      expect([each, response.status]).toEqual([each, 204])
    }
    const files = (await list(inside)) as { name: string; type: string; bytes: number }[]
    expect(new Set(files.map((each) => each.name))).toEqual(new Set(ODD_NAMES))
    expect(new Set(files.map(({ type }) => type))).toEqual(new Set(['file']))
    for (const each of ODD_NAMES) {
      expect(await (await read(`${inside}/${each}`)).text()).toBe(`content of ${each}`)
      expect((await call(url('files/stat', { path: `${inside}/${each}` }))).body).toMatchObject({
        name: each,
        bytes: Buffer.byteLength(`content of ${each}`),
      })
    }
    const [first = '', ...others] = ODD_NAMES
    const moved = { from: `${inside}/${first}`, to: `${inside}/-moved\n` }
    expect((await call(url('files/move'), 'POST', moved)).status).toBe(204)
    for (const each of [...others, '-moved\n'])
      expect((await fetch(url('files', { path: `${inside}/${each}` }), { method: 'DELETE' })).status).toBe(
        204,
      )
    expect(await list(inside)).toEqual([])
  })

  test('the list has type, size, permissions, owner and time', async () => {
    const at = `${dir}/kinds`
    await call(url('files/directory'), 'POST', { path: `${at}/directory` })
    await run(
      `cd ${at}; printf 12345 > file; chmod 640 file; touch -d @86400 file; ln -s file link; ln -s none broken; mkfifo fifo`,
    )
    const uid = Number(await run('id -u'))
    const files = (await list(at)) as { name: string; type: string }[]
    expect(files.map((each) => [each.name, each.type])).toEqual([
      ['broken', 'link'],
      ['directory', 'directory'],
      ['fifo', 'other'],
      ['file', 'file'],
      ['link', 'link'],
    ])
    expect(files.find((each) => each.name === 'file')).toMatchObject({
      bytes: 5,
      mode: '640',
      uid,
      modified_at: '1970-01-02T00:00:00.000Z',
    })
  })

  test('mode, owner and link of a replaced file stay; a new mode applies', async () => {
    await run(`cd ${dir}; echo old > script; chmod 750 script; ln -s script via`)
    expect((await write(`${dir}/via`, 'new')).status).toBe(204)
    expect(await run(`cd ${dir}; stat -c '%a %F' via script; cat script`)).toBe(
      '777 symbolic link\n750 regular file\nnew',
    )
    await write(`${dir}/script`, 'newer', { mode: '0600' })
    expect(await run(`stat -c %a ${dir}/script`)).toBe('600\n')
  })

  test('an upload that is cut off leaves the old content, and nothing else', async () => {
    const at = `${dir}/cut`
    await write(`${at}/file`, 'old', { create_parents: 'true' })
    const { hostname, port } = new URL(server.url)
    for (const sent of [0, 10, 100_000]) {
      const socket = connect(Number(port), hostname)
      const target = new URL(url('files', { path: `${at}/file` }))
      socket.write(
        `PUT ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n`,
      )
      socket.write(Buffer.alloc(sent, 'x'))
      await expect.poll(async () => (await list(at)).length).toBe(2)
      socket.destroy()
      await expect.poll(async () => (await list(at)).length).toBe(1)
      expect(await (await read(`${at}/file`)).text()).toBe('old')
    }
  })

  test('a reader that leaves ends the program inside', async () => {
    await run(`truncate -s 3G ${dir}/huge`)
    const gone = new AbortController()
    const response = await fetch(url('files', { path: `${dir}/huge` }), { signal: gone.signal })
    expect((await response.body?.getReader().read())?.done).toBe(false)
    gone.abort()
    const reading = async () =>
      run(
        `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -c "^cat -- ${dir.replace('/', '[/]')}/hug[e]"`,
      )
    if (kind === 'docker') await expect.poll(reading).toBe('0\n')
    await run(`rm ${dir}/huge`)
  })

  test('changes in a watched directory are streamed', async () => {
    const path = `${dir}/watched`
    await call(url('files/directory'), 'POST', { path: `${path}/in` })
    const leave = new AbortController()
    const response = await fetch(url('files/watch', { path, recursive: 'true' }), { signal: leave.signal })
    const seen: string[] = []
    const until = async (event: string): Promise<void> => {
      for await (const chunk of response.body?.values({ preventCancel: true }) ?? []) {
        for (const [, type, data = '{}'] of Buffer.from(chunk)
          .toString()
          .matchAll(/^event: (.*)\ndata: (.*)$/gm)) {
          const change = JSON.parse(data) as { type?: string; path?: string }
          seen.push(type === 'change' ? `${change.type} ${change.path}` : String(type))
        }
        if (seen.includes(event)) return
      }
      throw new Error(`the stream ended before "${event}": ${seen.join(', ')}`)
    }
    await until('ready')
    await write(`${path}/in/new\nline`, 'content')
    await until('write in/new\nline')
    await run(`rm -r ${path}/in`)
    await until('remove in')
    leave.abort()
    expect(seen).toEqual(expect.arrayContaining(['ready', 'create in/new\nline', 'remove in/new\nline']))
    expect(seen.join()).not.toMatch(/\.[0-9a-f]{16}/)
    expect(await codeOf(await fetch(url('files/watch', { path: `${path}/in` })))).toEqual([
      404,
      'FILE_NOT_FOUND',
    ])
    expect(await codeOf(await fetch(url('files/watch', { path: '/etc/passwd' })))).toEqual([
      409,
      'FILE_CONFLICT',
    ])
  })

  test('errors name the file and the reason', async () => {
    await run(`cd ${dir}; mkdir -p full/sub; echo > plain; mkfifo pipe`)
    const remove = (path: string) => fetch(url('files', { path }), { method: 'DELETE' })
    const move = (from: string, to: string) => call(url('files/move'), 'POST', { from, to })
    expect(await codeOf(await read(`${dir}/none`))).toEqual([404, 'FILE_NOT_FOUND'])
    expect(await codeOf(await read(dir))).toEqual([409, 'FILE_CONFLICT'])
    expect(await codeOf(await read(`${dir}/pipe`))).toEqual([409, 'FILE_CONFLICT'])
    expect(await codeOf(await write(dir, 'x'))).toEqual([409, 'FILE_CONFLICT'])
    expect(await codeOf(await write(`${dir}/no/such/file`, 'x'))).toEqual([404, 'FILE_NOT_FOUND'])
    expect(await codeOf(await write(`${dir}/plain/file`, 'x', { create_parents: 'true' }))).toEqual([
      409,
      'FILE_CONFLICT',
    ])
    expect(await codeOf(await write(`${dir}/file/`, 'x'))).toEqual([400, 'INVALID_REQUEST'])
    expect(await codeOf(await read('a\0b'))).toEqual([400, 'INVALID_REQUEST'])
    expect(await codeOf(await remove(`${dir}/full`))).toEqual([409, 'FILE_CONFLICT'])
    expect(await codeOf(await remove(`${dir}/none`))).toEqual([404, 'FILE_NOT_FOUND'])
    expect((await move(`${dir}/plain`, `${dir}/full`)).body.error.code).toBe('FILE_CONFLICT')
    expect((await move(`${dir}/plain`, `${dir}/pipe`)).body.error.code).toBe('FILE_CONFLICT')
    expect((await call(url('files/list', { path: `${dir}/plain` }))).body.error.code).toBe('FILE_CONFLICT')
    expect((await call(url('files/stat', { path: `${dir}/none` }))).body.error).toEqual({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining(`${dir}/none`),
    })
    expect(
      (await fetch(url('files', { path: `${dir}/full`, recursive: 'true' }), { method: 'DELETE' })).status,
    ).toBe(204)
    // A misspelled parameter must not be ignored.
    expect(
      (await fetch(url('files', { path: `${dir}/plain`, recursiv: 'true' }), { method: 'DELETE' })).status,
    ).toBe(400)
    expect(await run(`ls ${dir}/full 2>&1; cat ${dir}/plain`)).toContain('\n')
  })

  // The fake's programs have the rights of the tester.
  test.runIf(kind === 'docker')('what only root may do is refused', { tags: ['long'] }, async () => {
    const post = (route: string, body: object) => call(url(`files/${route}`), 'POST', body)
    await write(`${dir}/own`, 'x')
    await run(`mkdir ${dir}/closed; echo > ${dir}/closed/file; chmod 0 ${dir}/closed`)
    const answers = [
      await write('/etc/passwd', 'x'),
      await write('/etc/new', 'x'),
      await write('/etc/new/file', 'x', { create_parents: 'true' }),
      await read('/etc/shadow'),
      await fetch(url('files', { path: '/etc/passwd' }), { method: 'DELETE' }),
      await fetch(url('files/list', { path: `${dir}/closed` })),
    ]
    for (const answer of answers) expect(await codeOf(answer)).toEqual([403, 'FILE_DENIED'])
    for (const { status, body } of [
      await post('directory', { path: '/etc/new' }),
      await post('move', { from: `${dir}/own`, to: '/etc/own' }),
      await post('move', { from: '/etc/hostname', to: `${dir}/hostname` }),
    ])
      expect([status, body.error.code]).toEqual([403, 'FILE_DENIED'])
    const { body } = await post('directory', { path: `${dir}/${'x'.repeat(300)}` })
    expect(body.error).toMatchObject({ code: 'FILE_CONFLICT', message: expect.stringContaining('too long') })
    await run(`chmod 700 ${dir}/closed`)
  })

  test('only binary bodies with a length are accepted', async () => {
    const target = url('files', { path: `${dir}/typed` })
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      expect(
        await codeOf(await fetch(target, { method: 'PUT', body: '{}', headers: { 'content-type': type } })),
      ).toEqual([400, 'INVALID_REQUEST'])
    const untyped = { method: 'PUT', body: Buffer.from('by curl -T') }
    expect((await fetch(target, untyped)).status).toBe(204)
    const chunked = { method: 'PUT', body: new Blob(['x']).stream(), duplex: 'half' }
    const init = { ...chunked, headers: { 'content-type': 'application/octet-stream' } } as RequestInit
    expect(await codeOf(await fetch(target, init))).toEqual([400, 'INVALID_REQUEST'])
    const elsewhere = await fetch(`${server.url}/api/workspaces`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/octet-stream' },
    })
    expect(await codeOf(elsewhere)).toEqual([400, 'INVALID_REQUEST'])
  })

  test('a relative path starts at the workspace directory', async () => {
    await write(`${name}/relative`, 'here')
    expect(await (await read(`${dir}/relative`)).text()).toBe('here')
    expect((await call(url('files/list', { path: `${dir}/../${name}` }))).body.path).toBe(dir)
  })
})
