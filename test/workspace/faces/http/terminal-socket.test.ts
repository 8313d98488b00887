import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import PageSocket, { type WebSocket, WebSocketServer } from 'ws'
import type { ExecProcess } from '../../../../src/workspace/backend/backend.ts'
import { serveTerminal } from '../../../../src/workspace/faces/http/terminal-socket.ts'
import { openTerminal } from '../../../support/workspace/client/terminal-client.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** A program whose output and exit on hang-up are controlled by the test. */
function program(stdout: Readable, stdin = new PassThrough()) {
  const ended = Promise.withResolvers<{ status: number }>()
  let hangUps = 0
  const process: ExecProcess = {
    stdin,
    stdout,
    stderr: Readable.from([]),
    exitStatus: ended.promise,
    resize: () => undefined,
    signal: () => Promise.resolve(true),
    hangUp() {
      hangUps++
      stdout.destroy()
      ended.resolve({ status: 129 })
      return Promise.resolve()
    },
  }
  return { process, ended, hangUps: () => hangUps }
}

type Parts = Parameters<typeof serveTerminal>[0]

async function serve(process: ExecProcess, more: Partial<Parts> = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  server.on('connection', (socket: WebSocket) => {
    void serveTerminal({
      socket,
      process,
      workspaceEnded: new Promise(() => undefined),
      whenIdle: () => Promise.resolve(),
      logger: { info: () => undefined },
      ...more,
    })
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

const endless = () =>
  new Readable({
    read() {
      this.push(Buffer.alloc(65_536))
    },
  })

test('a page that acknowledges nothing for too long is disconnected and its program hung up', async () => {
  const { process, hangUps } = program(endless())
  const terminal = await openTerminal(await serve(process, { stallMs: 100 }), {
    takes: false,
    onData: () => undefined,
  })
  expect((await terminal.closed).code).toBe(4003)
  expect(terminal.receivedBytes()).toBeLessThan(2 ** 20 + 2 * 65_536)
  await waitFor('the hang-up', () => hangUps() === 1)
})

test('a page that acknowledges slowly stays connected', async () => {
  const { process } = program(endless())
  const terminal = await openTerminal(await serve(process), { onData: () => undefined })
  await waitFor('ten times the bound', () => terminal.receivedBytes() > 10 * 2 ** 20)
  expect(terminal.socket.readyState).toBe(terminal.socket.OPEN)
})

test('F31 a page stays connected while it sends anything, and no longer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { process, hangUps } = program(new PassThrough())
  let resizes = 0
  const resize = (): void => void (resizes += 1)
  const url = await serve({ ...process, resize })
  // Its answers to pings wait behind output that arrives slowly.
  const page = new PageSocket(url.replace(/^http/, 'ws'), 'terminal', { autoPong: false })
  onTestFinished(() => page.terminate())
  await once(page, 'open')
  for (let i = 1; i <= 5; i++) {
    page.send(JSON.stringify({ type: 'resize', columns: 80, rows: 24 }))
    await waitFor('the message', () => resizes === i)
    vi.advanceTimersByTime(15_000)
  }
  expect(hangUps()).toBe(0)
  vi.advanceTimersByTime(15_000)
  await waitFor('the hang-up', () => hangUps() === 1)
})

test('input waits in the page while the program does not read, and all of it arrives', async () => {
  const stdin = new PassThrough()
  const { process } = program(new PassThrough(), stdin)
  const terminal = await openTerminal(await serve(process))
  const typed = 200
  for (let at = 0; at < typed; at++) terminal.socket.send(Buffer.alloc(65_536, at))
  await waitFor('the first of it', () => stdin.writableNeedDrain)
  expect(stdin.readableLength + stdin.writableLength).toBeLessThan(2 ** 20)
  let read = 0
  stdin.on('data', (chunk: Buffer) => (read += chunk.length))
  await waitFor('the rest', () => read === typed * 65_536)
})

test('a program killed with its workspace is reported as the workspace stopping', async () => {
  const stdout = new PassThrough()
  const { process, ended } = program(stdout)
  const gone = Promise.withResolvers<void>()
  const terminal = await openTerminal(await serve(process, { workspaceEnded: gone.promise }))
  stdout.end()
  ended.resolve({ status: 137 })
  setImmediate(() => gone.resolve())
  expect((await terminal.closed).code).toBe(4001)
  expect(terminal.controls).toEqual([])
})

test('a program killed by stopping its workspace is reported as that, even if the stop takes long', async () => {
  const stdout = new PassThrough()
  const { process, ended } = program(stdout)
  const gone = Promise.withResolvers<void>()
  const parts = { workspaceEnded: gone.promise, whenIdle: () => gone.promise }
  const terminal = await openTerminal(await serve(process, parts))
  stdout.end()
  ended.resolve({ status: 143 })
  setTimeout(() => gone.resolve(), 1_000)
  expect((await terminal.closed).code).toBe(4001)
  expect(terminal.controls).toEqual([])
})

test('a program killed alone is reported with its status', async () => {
  const stdout = new PassThrough()
  const { process, ended } = program(stdout)
  const terminal = await openTerminal(await serve(process))
  stdout.end('last words')
  ended.resolve({ status: 137 })
  expect((await terminal.closed).code).toBe(1000)
  expect(terminal.screen()).toBe('last words')
  expect(terminal.controls).toEqual([{ type: 'ended', exit_status: 137 }])
})
