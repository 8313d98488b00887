import { expect, test, vi } from 'vitest'
import { startSupervisor } from '../../support/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

// As where the addon cannot be built: Node starts the programs and reads what they print.
vi.mock(import('../../../src/native/programs.ts'), async (original) => ({
  ...(await original()),
  canStartPrograms: () => false,
  becomeSubreaper: () => false,
}))

test('without the addon processes start, print, fail, restart and stop all the same', async () => {
  const { ask, until } = await startSupervisor({
    web: { cmd: 'echo hello; setsid sleep 1000 & exec sleep 1000', stop_timeout: '500ms' },
    task: { cmd: 'echo done >&2; exit 3', restart: 'never' },
    absent: { cmd: ['there-is-no-such-program'], restart: 'never' },
    lost: { cmd: 'true', cwd: '/there/is/no/such/directory', restart: 'never' },
  })
  await until('web', 'running')
  await until('task', 'crashed')
  expect((await ask('/processes/task')).body).toMatchObject({ reason: 'ended with code 3' })
  expect((await ask('/processes/absent')).body).toMatchObject({
    status: 'crashed',
    reason: expect.stringContaining('there-is-no-such-program'),
  })
  expect((await ask('/processes/lost')).body.reason).toContain('/there/is/no/such/directory is no directory')
  await waitFor('both lines', async () => (await ask('/logs')).body.total_count === 2)
  expect((await ask('/logs')).body.logs).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ process: 'web', stream: 'stdout', line: 'hello' }),
      expect.objectContaining({ process: 'task', stream: 'stderr', line: 'done' }),
    ]),
  )
  const { pid } = (await ask('/processes/web')).body
  process.kill(pid, 'SIGKILL')
  await waitFor('a restart', async () => (await ask('/processes/web')).body.restarts === 1)
  await until('web', 'running')
  const { pid: next } = (await ask('/processes/web')).body
  expect((await ask('/processes/web/stop', 'POST')).status).toBe(200)
  expect(() => process.kill(-next, 0)).toThrow(/ESRCH/)
})
