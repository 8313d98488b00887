import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { isAlive } from '../../../src/lib/process/is-alive.ts'
import { Random } from '../../../src/lib/random/random.ts'
import { rounds } from '../../support/rounds.ts'
import { SEED } from '../../support/seed.ts'
import { freePort } from '../../support/services/free-port.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { supervisorUser } from '../../support/supervisor/supervisor-cli.ts'
import { webProgram, webProgramsIn } from '../../support/supervisor/web-program.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitClosely, waitFor } from '../../support/wait-for.ts'

const RESTARTS = rounds(25, 200)
const MOMENTS = rounds(2, 100)
const CHECK = { http: 'http://127.0.0.1:$PORT/health', interval: '50ms', start_period: '30s' }
const BODY = Buffer.alloc(100_000, 'x')

/** Counts what happened to the requests of a load. */
interface Load {
  sent: number
  readonly pids: Set<number>
  readonly failures: string[]
  isOver: boolean
}

const newLoad = (): Load => ({ sent: 0, pids: new Set(), failures: [], isOver: false })

test('restarts at random moments under load lose no request', { timeout: 300_000 }, async () => {
  const dir = tempDir()
  const { cmd } = webProgram(dir)
  const { running, ask, until } = await startSupervisor(
    { web: { cmd, restart_order: 'start-first', proxy: {}, healthcheck: CHECK } },
    { proxy: { enabled: true, port: 0 } },
    dir,
  )
  await until('web', 'running')
  const load = newLoad()
  const workers = loadOn(running.proxyPort, load)
  const random = new Random(SEED)
  for (let i = 0; i < RESTARTS; i++) {
    const from = load.sent
    const count = 1 + random.below(200)
    await waitFor(
      'requests, one of them to the new run',
      () => (load.sent > from + count && load.pids.size > i) || load.failures.length > 0,
    )
    expect(await ask('/processes/web/restart', 'POST')).toMatchObject({ status: 200 })
  }
  await waitFor('a request to the last run', () => load.pids.size > RESTARTS || load.failures.length > 0)
  load.isOver = true
  await Promise.all(workers)
  expect(load.failures).toEqual([])
  // Each run has served.
  expect(load.pids.size).toBe(RESTARTS + 1)
})

test('restarts that stop the run first lose no request that waits', { timeout: 300_000 }, async () => {
  const dir = tempDir()
  const { cmd } = webProgram(dir)
  const { running, ask } = await startSupervisor(
    { web: { cmd, proxy: { port: await freePort() } } },
    { proxy: { enabled: true, port: 0 } },
    dir,
  )
  const load = newLoad()
  // Requests in progress end with the run, so there is none when it is stopped.
  for (let i = 0; i < RESTARTS; i++) {
    const restarted = ask('/processes/web/restart', 'POST')
    await waitClosely('the stop', () => running.supervisor.table.get('web').state.is !== 'running')
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => send(running.proxyPort, at % 2 === 0, false, load)),
    )
    expect(await restarted).toMatchObject({ status: 200 })
  }
  expect(load.failures).toEqual([])
  expect(load.sent).toBe(20 * RESTARTS)
})

test('F26 a supervisor killed during a restart leaves no second run', { timeout: 300_000 }, async () => {
  for (let moment = 0; moment < MOMENTS; moment++) {
    const cmd = [process.execPath, 'web.cjs']
    const web = { cmd, restart_order: 'start-first', proxy: {}, healthcheck: CHECK }
    const user = await supervisorUser({ web }, { proxy: { enabled: true, port: 0 } })
    webProgram(user.dir)
    const first = await user.up()
    await waitFor('it', async () => (await user.ask('/processes/web')).status === 'running')
    const { pid } = await user.ask('/processes/web')
    const restarting = user.ask('/processes/web/restart', 'POST').catch(() => undefined)
    await waitClosely('the next run', () => webProgramsIn(user.dir).length === 2)
    // Between its start and the end of the earlier one.
    const endMs = performance.now() + (moment * 400) / MOMENTS
    await waitClosely('the moment', () => performance.now() >= endMs)
    first.child.kill('SIGKILL')
    await first.ended
    await restarting
    await user.up()
    await waitFor('it again', async () => (await user.ask('/processes/web')).status === 'running')
    const { pid: after } = await user.ask('/processes/web')
    expect(webProgramsIn(user.dir), `moment ${moment}, before ${pid}`).toEqual([after])
    await user.supervisor('down')
    expect(isAlive(after)).toBe(false)
  }
})

/** Sends requests until the load is over: over persistent and new connections, with bodies, and over upgraded ones. */
function loadOn(port: number, load: Load): readonly Promise<void>[] {
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (!load.isOver) await work()
  }
  return [
    repeat(() => send(port, true, false, load)),
    repeat(() => send(port, true, true, load)),
    repeat(() => send(port, false, false, load)),
    repeat(() => send(port, false, true, load)),
    repeat(() => converse(port, load)),
  ]
}

const agent = new Agent({ keepAlive: true })

function send(port: number, isPersistent: boolean, hasBody: boolean, load: Load): Promise<void> {
  return new Promise((resolve) => {
    const end = (failure?: string): void => {
      load.sent++
      if (failure !== undefined) load.failures.push(failure)
      resolve()
    }
    const asked = request({
      port,
      method: hasBody ? 'POST' : 'GET',
      headers: { host: 'web.localhost' },
      agent: isPersistent ? agent : false,
    })
    asked.on('error', (error) => end(error.message))
    asked.on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('error', (error) => end(error.message))
      answer.on('end', () => {
        if (answer.statusCode !== 200) return end(`${answer.statusCode} ${text}`)
        const { pid, bytes } = JSON.parse(text)
        load.pids.add(pid)
        end(bytes === (hasBody ? BODY.length : 0) ? undefined : `${bytes} bytes arrived`)
      })
    })
    asked.end(hasBody ? BODY : undefined)
  })
}

/** Sends ten messages over an upgraded connection, each after the echo of the one before. */
function converse(port: number, load: Load): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    let count = 0
    const end = (failure?: string): void => {
      load.sent++
      if (failure !== undefined) load.failures.push(`upgraded: ${failure}`)
      socket.removeAllListeners('close').destroy()
      resolve()
    }
    socket.on('error', (error) => end(error.message))
    socket.on('close', () => end(`closed after ${count} messages: ${received.slice(0, 200)}`))
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk
      if (!received.endsWith('\n')) return
      if (count === 10) return end()
      received = ''
      socket.write(`message ${++count}\n`)
    })
    socket.write('GET /ws HTTP/1.1\r\nHost: web.localhost\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n')
  })
}
