import { expect, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

/** So many that some print their line before the supervisor waits for it. */
const PROCESSES = 40

test(
  'a line that is printed at once makes a process healthy, in each of its runs',
  { tags: ['long'] },
  async () => {
    const names = Array.from({ length: PROCESSES }, (_, at) => `p${at}`)
    const { ask } = await startSupervisor(
      Object.fromEntries(
        names.map((name) => [name, { cmd: 'echo ready; exec sleep 1000', healthcheck: { log: 'ready' } }]),
      ),
    )
    const waiting = async (): Promise<readonly string[]> =>
      (await ask('/processes')).body.processes
        .filter(({ status }: any) => status !== 'running')
        .map(({ name }: any) => name)
    const printed = (times: number) => async (): Promise<boolean> =>
      (await ask('/logs?pattern=ready')).body.filtered_count === times * PROCESSES
    for (const times of [1, 2]) {
      await waitFor('the lines', printed(times))
      await expect.poll(waiting).toEqual([])
      await Promise.all(names.map((name) => ask(`/processes/${name}/restart`, 'POST')))
    }
  },
)

test('a line of an earlier run does not count', async () => {
  const { ask, until } = await startSupervisor({
    once: {
      cmd: 'if [ ! -e up ]; then touch up; echo ready; fi; exec sleep 1000',
      healthcheck: { log: 'ready' },
    },
  })
  await until('once', 'running')
  await ask('/processes/once/restart', 'POST')
  await waitFor('the next run', async () => (await ask('/processes/once')).body.restarts === 1)
  expect((await ask('/processes/once')).body).toMatchObject({ status: 'starting', health: 'unknown' })
})
