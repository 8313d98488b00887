import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readProcStat } from '../../../src/lib/process/proc-stat.ts'
import { ControlGroups } from '../../../src/supervisor/process/control-groups.ts'
import { followSchedule } from '../../../src/supervisor/process/schedule.ts'
import { startSupervisor, type TestSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

const lines = async ({ ask }: TestSupervisor): Promise<readonly string[]> =>
  (await ask('/logs')).body.logs.map(({ line }: { line: string }) => line)

// Only root can switch users.
test.runIf(process.getuid?.() === 0)('a process runs as its user, with its groups and its home', async () => {
  const supervisor = await startSupervisor({
    plain: { cmd: 'echo plain $(id -un) $(id -gn) $HOME; exec sleep 1000', user: 'nobody', cwd: '/' },
    grouped: { cmd: 'echo grouped $(id -u) $(id -gn); exec sleep 1000', user: '65534:daemon', cwd: '/' },
    unknown: { cmd: 'exec sleep 1000', user: 'nobody-knows' },
  })
  await waitFor('both lines', async () => (await lines(supervisor)).length === 2)
  expect((await lines(supervisor)).toSorted()).toEqual([
    'grouped 65534 daemon',
    'plain nobody nogroup /nonexistent',
  ])
  expect((await supervisor.ask('/processes/unknown')).body).toMatchObject({
    status: 'crashed',
    reason: expect.stringContaining('user "nobody-knows" does not exist'),
  })
})

/** Whether control groups are writable on this machine. A virtual machine tests their limits (test/vm). */
function areControlGroupsThere(): boolean {
  const groups = ControlGroups.open(`supervisor-test-${process.pid}`)
  groups?.close()
  return groups !== undefined
}

describe.runIf(areControlGroupsThere())('with writable control groups', () => {
  const groupOf = (pid: number): string =>
    /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? ''
  const mount = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, , type]) => type === 'cgroup2')?.[1]

  test('F24 stopping a process kills its whole control group', async () => {
    const { ask, until } = await startSupervisor({
      // An unmarked daemon in a separate session whose parent has exited.
      tree: {
        cmd: `env -i /usr/bin/setsid -f /bin/sh -c 'trap "" TERM; sleep 1000'; exec sleep 1000`,
        stop_timeout: '300ms',
      },
    })
    await until('tree', 'running')
    const { pid } = (await ask('/processes/tree')).body
    const own = join(mount ?? '', groupOf(pid))
    expect(own).toMatch(/\/supervisor-[^/]+\/tree$/)
    const members = (): readonly string[] =>
      readFileSync(join(own, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)
    await waitFor('all of it', () => members().length === 3)
    expect((await ask('/processes/tree/stop', 'POST')).status).toBe(200)
    expect(members()).toEqual([])
  })

  test('every program has exited when the supervisor has stopped', async () => {
    const { ask, until, running } = await startSupervisor({ one: { cmd: 'exec sleep 1000' } })
    await until('one', 'running')
    const { pid } = (await ask('/processes/one')).body
    const all = join(mount ?? '', groupOf(pid), '..')
    expect(existsSync(all)).toBe(true)
    await running.stop()
    expect(existsSync(all)).toBe(false)
  })
})

test.runIf(process.platform === 'linux')(
  'a process is the parent of its descendants’ orphans while any of its supervisors runs, and not afterwards',
  async () => {
    const parentOfOrphan = (): number | undefined => {
      const { stdout } = spawnSync('sh', ['-c', 'sleep 1000 >/dev/null 2>&1 & echo $!'], { encoding: 'utf8' })
      const pid = Number(stdout)
      onTestFinished(() => void process.kill(pid, 'SIGKILL'))
      return readProcStat(pid)?.parent
    }
    const first = await startSupervisor({})
    const second = await startSupervisor({})
    await first.running.stop()
    expect(parentOfOrphan()).toBe(process.pid)
    await second.running.stop()
    expect(parentOfOrphan()).not.toBe(process.pid)
  },
)

test('a scheduled process is not started initially', async () => {
  const { ask } = await startSupervisor({
    sign: { cmd: 'true', restart: 'never' },
    yearly: { cmd: 'true', schedule: '0 0 29 2 *' },
  })
  await waitFor('the others’ start', async () => (await ask('/processes/sign')).body.status === 'stopped')
  expect((await ask('/processes/yearly')).body.history).toEqual([])
})

test('a scheduled process is started at each of its times', { tags: ['long'] }, async () => {
  const { ask } = await startSupervisor({ tick: { cmd: 'true', restart: 'never', schedule: '* * * * * *' } })
  const history = async () => (await ask('/processes/tick')).body.history
  await waitFor(
    'two runs',
    async () => (await history()).filter(({ status }: any) => status === 'stopped').length >= 2,
  )
  const starts = (await history()).filter(({ status }: any) => status === 'running')
  expect(new Set(starts.map(({ reason }: any) => reason))).toEqual(new Set(['started by its schedule']))
})

test('a schedule keeps its times over years, waits beyond any timer, and clock changes', () => {
  let nowMs = Date.UTC(2026, 0, 1)
  let due: { readonly atMs: number; readonly run: () => void } | undefined
  const clock = {
    nowMs: () => nowMs,
    wallMs: () => nowMs,
    after(delayMs: number, run: () => void) {
      expect(delayMs).toBeLessThan(2 ** 31)
      due = { atMs: nowMs + delayMs, run }
      return () => (due = undefined)
    },
  }
  const runs: number[] = []
  const end = followSchedule('0 0 29 2 *', clock, () => runs.push(new Date(nowMs).getFullYear()))
  while (runs.length < 2) {
    const { atMs, run } = due ?? { atMs: 0, run: () => undefined }
    nowMs = atMs
    run()
  }
  expect(runs).toEqual([2028, 2032])
  // The clock is set back during the wait.
  const { run } = due ?? { run: () => undefined }
  nowMs = Date.UTC(2030, 0, 1)
  run()
  expect(runs).toHaveLength(2)
  end()
  expect(due).toBeUndefined()
})
