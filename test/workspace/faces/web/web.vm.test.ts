import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTerminal } from '../../../support/workspace/client/terminal-client.ts'
import { machineRoots, vmServer } from '../../../support/vm/vm-server.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { call, makeWorkspace, type TestServer } from '../../../support/workspace/server/test-server.ts'

const roots = machineRoots()
let server: TestServer
const url = (path: string) => `${server.url}/api/workspaces/demo/${path}`

beforeAll(async () => {
  server = await vmServer(roots)
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(async () => {
  await server.api('workspaces/demo', 'DELETE').catch(() => undefined)
  await server.stop()
  roots.remove()
})

test('a terminal in a machine follows the page’s size', async () => {
  const terminal = await openTerminal(url('terminal?columns=101&rows=33'))
  terminal.type('stty size; trap "stty size" WINCH; hostname; echo rea""dy\r')
  await terminal.shows('33 101')
  await terminal.shows('demo')
  await terminal.shows('ready')
  terminal.say({ type: 'resize', columns: 132, rows: 50 })
  await terminal.shows('50 132')
  terminal.type('exit 7\r')
  expect(await terminal.closed).toMatchObject({ code: 1000 })
  expect(terminal.controls).toEqual([{ type: 'ended', exit_status: 7 }])
})

test('a tmux session in a machine can be reattached', async () => {
  const first = await openTerminal(url('terminal?session=work'))
  first.type('echo remem""bered\r')
  await first.shows('remembered')
  first.socket.terminate()
  const again = await openTerminal(url('terminal?session=work'))
  await expect.poll(again.screen).toContain('remembered')
})

test('a machine’s usage is reported', async () => {
  const { body } = await server.api('usage')
  expect(body.workspaces).toEqual([{ name: 'demo', cpu_percent: null, memory_bytes: expect.any(Number) }])
  expect(body.workspaces[0].memory_bytes).toBeGreaterThan(50 * 2 ** 20)
  await expect
    .poll(async () => (await server.api('usage')).body.workspaces[0].cpu_percent, {
      interval: 1_100,
    })
    .toBeGreaterThan(0)
})

test('a port in a machine is listed with its program and can be opened', async () => {
  const serve =
    '$s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 3000, ReuseAddr => 1);' +
    'while ($c = $s->accept) { $c->recv($q, 4096); print $c "HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\nConnection: close\\r\\n\\r\\ninside"; close $c }'
  const argv = ['perl', '-MIO::Socket::INET', '-e', serve]
  expect((await call(url('processes'), 'POST', { argv })).status).toBe(201)
  const port = { port: 3000, address: '127.0.0.1', process: 'perl' }
  await expect
    .poll(async () => (await call(url('ports'))).body.ports, { timeout: 60_000 })
    .toContainEqual(port)
  const answer = await fetch(url('proxy/3000/'))
  expect(await answer.text()).toBe('inside')
  expect(answer.headers.get('content-security-policy')).toContain('sandbox')
})

test('programs run in a machine, and files are exchanged with it', async () => {
  const content = randomBytes(2_000_000)
  const blob = url('files?path=programs/blob&create_parents=true')
  const headers = { 'content-type': 'application/octet-stream' }
  expect((await fetch(blob, { method: 'PUT', body: content, headers })).status).toBe(204)
  const { body } = await call(url('exec'), 'POST', {
    command: 'sha256sum < programs/blob; hostname; echo problem >&2; exit 3',
    cwd: '/workspace',
  })
  const digest = createHash('sha256').update(content).digest('hex')
  expect(body).toMatchObject({ exit_status: 3, stdout: `${digest}  -\ndemo\n`, stderr: 'problem\n' })
  const back = await fetch(url('files?path=programs/blob'))
  expect(Buffer.from(await back.arrayBuffer()).equals(content)).toBe(true)
  expect((await call(url('files/list?path=programs'))).body.files).toMatchObject([
    { name: 'blob', bytes: 2_000_000 },
  ])
  const late = await call(url('exec'), 'POST', { command: 'sleep 600 & sleep 600', timeout_ms: 500 })
  expect(late.body).toMatchObject({ timed_out: true, exit_status: 143 })
})

test('the console’s last lines are returned', async () => {
  const { body } = await call(url('logs?lines=5'))
  expect(body.lines).toHaveLength(5)
  expect((await call(url('logs?lines=1000'))).body.lines.join('\n')).toContain('workspace-init: ready')
})

test('the page shows a machine, its bus connection and console, and opens a terminal', async () => {
  const page = await openWorkspacePage(`${server.url}/#/workspaces/demo`)
  await page.untilText('[data-card=facts]', 'qemu')
  await page.untilText('[data-card=extensions]', 'No extensions are enabled')
  await page.untilText('[data-card=logs] pre', 'workspace-init: ready')
  await page.untilText('[data-card=usage]', 'MiB')
  await page.choose('.page-head a.main')
  await page.untilText('.terminal-page .status', 'connected')
  await page.type('echo in-$(hostname)')
  await page.press('Enter')
  await page.untilText('.xterm-rows', 'in-demo')
  expect(page.complaints).toEqual([])
})

test('stopping the machine closes its terminals', async () => {
  const terminal = await openTerminal(url('terminal'))
  terminal.type('echo rea""dy\r')
  await terminal.shows('ready')
  await call(url('stop'), 'POST')
  expect((await terminal.closed).code).toBe(4001)
})
