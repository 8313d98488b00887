import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { cliServer } from '../../../support/workspace/client/cli-server.ts'
import { CLI } from '../../../support/workspace/client/workspace-cli.ts'

const { backend, server, environment, cli } = cliServer('idle', 'busy', 'off')
beforeAll(async () => {
  await server().api('workspaces/off/stop', 'POST')
  backend.loadsNow.set('fake-idle', { cpuMs: 0, memoryBytes: 2 ** 20 })
  let cpuMs = 0
  const ticking = setInterval(() => {
    backend.loadsNow.set('fake-busy', { cpuMs: (cpuMs += 100), memoryBytes: 2 ** 30 })
  }, 20)
  ticking.unref()
})

test('top prints the usage of every workspace once when piped, the busiest first', async () => {
  const { stdout, stderr, status } = await cli('top')
  expect([status, stderr]).toEqual([0, ''])
  const { workspaces } = JSON.parse(stdout)
  expect(workspaces).toEqual([
    {
      name: 'busy',
      status: 'running',
      cpu_percent: expect.any(Number),
      memory_bytes: 2 ** 30,
      disk_bytes: 4096,
      ports: expect.arrayContaining([server().httpPort]),
    },
    expect.objectContaining({ name: 'idle', cpu_percent: 0, memory_bytes: 2 ** 20 }),
    { name: 'off', status: 'stopped', cpu_percent: null, memory_bytes: null, disk_bytes: 4096, ports: [] },
  ])
  expect(workspaces[0].cpu_percent).toBeGreaterThan(0)
})

test.each(['q', '\u001b[Bjq'])(
  'top is live on a terminal, and %j restores it',
  { tags: ['long'] },
  async (keys) => {
    const line = [...CLI, 'top'].map((word) => `'${word}'`).join(' ')
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...environment(), TERM: 'xterm' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
    const exit = once(child, 'close')
    await expect
      .poll(() => shown)
      .toMatch(/NAME +STATUS +CPU +MEMORY +DISK +PORTS[^]*busy +running +\d+\.\d% +1\.00 GiB +4\.00 KiB/)
    expect(shown.startsWith('\u001B[?1049h')).toBe(true)
    child.stdin.write(keys)
    expect((await exit)[0]).toBe(0)
    expect(shown.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true)
  },
)
