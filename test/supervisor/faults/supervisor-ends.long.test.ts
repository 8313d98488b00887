import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { ControlGroups } from '../../../src/supervisor/process/control-groups.ts'
import { recovery } from '../../support/recovery.ts'
import { rounds } from '../../support/rounds.ts'
import { SEED } from '../../support/seed.ts'
import { supervisorUser } from '../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../support/wait-for.ts'

const MOMENTS = rounds(8, 200)
const isAlive = (pid: number): boolean => {
  try {
    // Zombies are not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('F26 the next supervisor takes over the processes of a killed one, with their output', async (context) => {
  const user = await supervisorUser({
    counter: { cmd: 'i=0; while sleep 0.02; do i=$((i+1)); echo "n $i"; done', log: { dir: 'logs' } },
    changed: { cmd: 'exec sleep 1000', env: { A: '${A:-1}' } },
    loner: { cmd: 'setsid -f sleep 1001; exec sleep 1000' },
  })
  const first = await user.up()
  await waitFor('lines', async () => (await user.ask('/logs?process=counter')).total_count > 5)
  const pidOf = async (name: string): Promise<number> => (await user.ask(`/processes/${name}`)).pid
  const before = [await pidOf('counter'), await pidOf('loner')]
  await waitFor('the record', () => before.every(isAlive) && readRecord(user.dir).includes(String(before[1])))
  first.child.kill('SIGKILL')
  await first.ended
  expect(before.every(isAlive)).toBe(true)
  await recovery(context, () => user.up())
  expect([await pidOf('counter'), await pidOf('loner')]).toEqual(before)
  await waitFor('more lines', async () => (await user.ask('/logs?process=counter')).filtered_count > 10)
  await user.ask('/processes/counter/stop', 'POST')
  expect(isAlive(before[0] ?? 0)).toBe(false)
  // No line is missing, regardless of which supervisor read it.
  const numbers = readFileSync(`${user.dir}/logs/counter.log`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.slice(2)))
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => i + 1))
  expect(numbers.length).toBeGreaterThan(15)
})

test('F26 processes that redirected or closed their output are taken over too', async () => {
  const redirections = [
    '> file 2>&1',
    '> /dev/null',
    '>&- 2>&-',
    '> /dev/full',
    '2> file',
    '> /proc/self/fd/2',
  ]
  const user = await supervisorUser({
    ...Object.fromEntries(
      redirections.map((redirection, i) => [`p${i}`, { cmd: `exec sleep 1000 ${redirection}` }]),
    ),
    piped: { cmd: `exec bash -c 'exec > >(cat > piped); exec sleep 1000'` },
  })
  const first = await user.up()
  const names = [...redirections.map((_, i) => `p${i}`), 'piped']
  const pids = () =>
    Promise.all(names.map(async (name) => (await user.ask(`/processes/${name}`)).pid as number))
  const before = await pids()
  await waitFor('the record', () => before.every((pid) => readRecord(user.dir).includes(`"pid":${pid}`)))
  first.child.kill('SIGKILL')
  await first.ended
  await user.up()
  expect(await pids()).toEqual(before)
  await user.supervisor('down')
  expect(before.some(isAlive)).toBe(false)
})

test('F26 lines of a process whose two outputs are one pipe stay whole after a take-over', async () => {
  const width = 900
  // More than a pipe can hold, so that reads end within lines.
  const burst = `seq -f %0${width}g 1 100`
  const user = await supervisorUser({
    joined: { cmd: `exec 2>&1; while sleep 0.01; do ${burst}; done`, log: { dir: 'logs' } },
  })
  const file = `${user.dir}/logs/joined.log`
  const written = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const first = await user.up()
  await waitFor('lines', () => written().length > 500_000)
  const { pid } = await user.ask('/processes/joined')
  await waitFor('the record', () => readRecord(user.dir).includes(`"pid":${pid}`))
  first.child.kill('SIGKILL')
  await first.ended
  await user.up()
  expect((await user.ask('/processes/joined')).pid).toBe(pid)
  const before = written().length
  await waitFor('more lines', () => written().length > before + 3_000_000)
  await user.ask('/processes/joined/stop', 'POST')
  const torn = written()
    .trimEnd()
    .split('\n')
    .filter((line) => line.length !== width)
  // Only the lines being read at the kill and written at the stop may be incomplete.
  expect(torn.length).toBeLessThanOrEqual(2)
})

test.runIf(areControlGroupsThere())(
  'F26 a supervisor started elsewhere stops everything it took over',
  async () => {
    const name = `supervisor-test-elsewhere-${process.pid}`
    const mark = `7${Math.floor(Math.random() * 1e8)}`
    // An unmarked daemon in a separate session whose parent has exited.
    const cmd = `env -i /usr/bin/setsid -f /bin/sleep ${mark}; exec sleep ${mark}`
    const user = await supervisorUser({ web: { cmd } })
    const [, mount = ''] = /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/self/mounts', 'utf8')) ?? []
    const elsewhere = join(mount, name)
    const first = await user.up([
      'sh',
      '-c',
      `mkdir ${elsewhere} && echo $$ > ${elsewhere}/cgroup.procs && exec "$@"`,
      'sh',
    ])
    onTestFinished(() => rmdirSync(elsewhere))
    const { pid } = await user.ask('/processes/web')
    const left = () =>
      spawnSync('pgrep', ['-fx', `(/bin/)?sleep ${mark}`], { encoding: 'utf8' }).stdout.split('\n')
    await waitFor('the record', () => readRecord(user.dir).includes(`"pid":${pid}`) && left().length === 3)
    expect(readRecord(user.dir)).toContain(`"path":"${elsewhere}/`)
    first.child.kill('SIGKILL')
    await first.ended
    await user.up()
    expect((await user.ask('/processes/web')).pid).toBe(pid)
    await user.ask('/processes/web/stop', 'POST')
    expect(left()).toEqual([''])
    await user.supervisor('down')
    // Empty: the groups of the first supervisor are removed.
    await waitFor('its groups to be removed', () =>
      listOf(elsewhere).every((entry) => !entry.startsWith('supervisor-')),
    )
  },
)

function areControlGroupsThere(): boolean {
  const groups = ControlGroups.open(`supervisor-test-${process.pid}`)
  groups?.close()
  return groups !== undefined
}

function recordFile(dir: string): string {
  const root = `${dir}/.supervisor/state`
  const [name = 'none'] = listOf(root)
  return `${root}/${name}/runs.json`
}

function readRecord(dir: string): string {
  try {
    return readFileSync(recordFile(dir), 'utf8')
  } catch {
    return ''
  }
}

function listOf(dir: string): readonly string[] {
  return readdirSync(dir)
}

test('F26 a process whose settings changed meanwhile is stopped and started again', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' } })
  const first = await user.up()
  const { pid } = await user.ask('/processes/web')
  await waitFor('the record', () => readRecord(user.dir).includes(String(pid)))
  first.child.kill('SIGKILL')
  await first.ended
  const config = `${user.dir}/supervisor.yaml`
  writeFileSync(config, readFileSync(config, 'utf8').replace('sleep 1000', 'sleep 2000'))
  await user.up()
  expect((await user.ask('/processes/web')).pid).not.toBe(pid)
  expect(isAlive(pid)).toBe(false)
})

test('V6 a process id that was reused is neither taken over nor signaled', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' } })
  const first = await user.up()
  const { pid } = await user.ask('/processes/web')
  await waitFor('the record', () => readRecord(user.dir).includes(String(pid)))
  first.child.kill('SIGKILL')
  await first.ended
  process.kill(pid, 'SIGKILL')
  const stranger = spawn('sleep', ['1000'])
  onTestFinished(() => void stranger.kill('SIGKILL'))
  // As if it had the id of the exited process.
  const record = recordFile(user.dir)
  writeFileSync(record, readRecord(user.dir).replace(`"pid":${pid}`, `"pid":${stranger.pid}`))
  await user.up()
  expect((await user.ask('/processes/web')).pid).not.toBe(stranger.pid)
  await user.supervisor('down')
  expect(stranger.exitCode).toBeNull()
  expect(isAlive(stranger.pid ?? 0)).toBe(true)
})

test('F27 a stalled supervisor loses no line', async () => {
  const user = await supervisorUser({
    flood: { cmd: 'sleep 0.3; seq 1 200000; echo end', restart: 'never', log: { dir: 'logs' } },
  })
  const { child } = await user.up()
  child.kill('SIGSTOP')
  // The pipe can hold a tenth of it, so the process blocks.
  const file = `${user.dir}/logs/flood.log`
  const stalled = performance.now() + 1_000
  await waitFor('a while', () => performance.now() > stalled)
  child.kill('SIGCONT')
  await waitFor('the last line', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('end\n'))
  expect(readFileSync(file, 'utf8')).toBe(
    `${Array.from({ length: 200_000 }, (_, i) => i + 1).join('\n')}\nend\n`,
  )
})

test('F34 a second supervisor, and one whose port is in use, report it and touch nothing', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' } })
  await user.up()
  const { pid } = await user.ask('/processes/web')
  const second = await user.supervisor('up')
  expect(second).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('another supervisor is running for this configuration'),
  })
  const port = new URL(user.url).port
  const other = await supervisorUser({ web: { cmd: 'exec sleep 1000' } }, { api: { port: Number(port) } })
  const taken = await other.supervisor('up')
  expect(taken).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`cannot listen on 127.0.0.1 port ${port}`),
  })
  expect(await user.ask('/processes/web')).toMatchObject({ pid, restarts: 0 })
})

test('F36 a supervisor stops everything on SIGTERM, closes streams and exits with 0', async () => {
  const user = await supervisorUser({
    a: { cmd: 'exec sleep 1000' },
    deaf: { cmd: "trap '' TERM; while :; do sleep 1; done", stop_timeout: '1s' },
  })
  const { child, ended } = await user.up()
  const pids = [(await user.ask('/processes/a')).pid, (await user.ask('/processes/deaf')).pid] as number[]
  const stream = await fetch(`${user.url}/api/v1/logs/stream`)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(pids.some(isAlive)).toBe(false)
  await stream.body?.cancel().catch(() => undefined)
})

test(
  `F36 SIGTERM at ${MOMENTS} moments of the start leaves no process and does not block the next start`,
  { timeout: 20_000 + MOMENTS * 5_000 },
  async () => {
    const mark = `6${Math.floor(Math.random() * 1e8)}`
    const user = await supervisorUser(
      Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [`p${i}`, { cmd: `setsid sleep ${mark} & exec sleep ${mark}` }]),
      ),
    )
    const left = () => spawnSync('pgrep', ['-fx', `sleep ${mark}`], { encoding: 'utf8' }).stdout
    const random = new Random(SEED)
    const moments = Array.from({ length: MOMENTS }, () => random.next() * 2_500)
    for (const [i, afterMs] of moments.entries()) {
      const { child, ended, output } = user.start()
      await delay(afterMs)
      child.kill('SIGTERM')
      const status = await ended
      const moment = `moment ${i}, ${afterMs.toFixed(0)} ms: ${output()}`
      // Before it handles signals, it has started nothing.
      expect([0, 'SIGTERM'], moment).toContain(status)
      expect(left(), moment).toBe('')
    }
    await user.up()
    expect((await user.ask('/status')).status).toBe('running')
  },
)

test('as the first process of a container it reaps orphans and stops everything on a signal', async () => {
  const user = await supervisorUser({
    orphans: { cmd: 'for i in 1 2 3; do (sleep 0.1 & exec true); done; exec sleep 1000' },
  })
  const { child, ended } = await user.up(['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'])
  onTestFinished(() => void child.kill('SIGKILL'))
  expect((await user.ask('/status')).pid).toBe(1)
  const zombies = (): number =>
    execFileSync('nsenter', ['-t', String(innerPid(child.pid ?? 0)), '-p', '-m', 'ps', '-eo', 'stat='], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((state) => state.startsWith('Z')).length
  await waitFor('the zombies to be reaped', () => zombies() === 0)
  process.kill(innerPid(child.pid ?? 0), 'SIGTERM')
  expect(await ended).toBe(0)
})

function innerPid(unshare: number): number {
  return Number(readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').trim())
}
