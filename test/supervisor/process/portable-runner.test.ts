import { expect, test } from 'vitest'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

// Node starts the programs and reads their output.
test('on systems other than Linux processes start, print, fail, restart and stop too', async () => {
  const processes = {
    web: { cmd: 'echo hello; setsid sleep 1000 & exec sleep 1000', stop_timeout: '500ms' },
    task: { cmd: 'echo done >&2; exit 3', restart: 'never' },
    absent: { cmd: ['there-is-no-such-program'], restart: 'never' },
    lost: { cmd: 'true', cwd: '/there/is/no/such/directory', restart: 'never' },
  }
  const { ask, until } = await startSupervisor(processes, {}, tempDir(), 'darwin')
  await until('web', 'running')
  await until('task', 'crashed')
  expect((await ask('/processes/task')).body).toMatchObject({ reason: 'exited with status 3' })
  expect((await ask('/processes/absent')).body).toMatchObject({
    status: 'crashed',
    reason: expect.stringContaining('there-is-no-such-program'),
  })
  expect((await ask('/processes/lost')).body.reason).toContain(
    '/there/is/no/such/directory is not a directory',
  )
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
