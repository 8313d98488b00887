import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'

test('a user runs processes in the background, inspects them and stops them', async () => {
  const user = await supervisorUser({
    web: { cmd: 'echo hello; exec sleep 1000' },
    job: { cmd: 'exec sleep 1000', autostart: false },
  })
  const json = async (...argv: readonly string[]) => {
    const { status, stdout, stderr } = await user.supervisor(...argv)
    expect(stderr).toBe('')
    expect(status).toBe(0)
    return JSON.parse(stdout)
  }
  expect(await json('config', 'check')).toMatchObject({ ok: true, processes: 2 })
  expect(await json('up', '-d')).toMatchObject({ url: user.url })
  const { processes } = await json('ps')
  expect(processes).toMatchObject([
    { name: 'web', status: 'running' },
    { name: 'job', status: 'stopped' },
  ])
  await json('start', 'job')
  expect((await user.ask('/processes/job')).status).toBe('running')
  const logs = await user.supervisor('logs', 'web', '--grep', 'hell')
  expect(JSON.parse(logs.stdout)).toMatchObject({ process: 'web', stream: 'stdout', line: 'hello' })
  expect(await user.supervisor('logs', 'wbe')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('process "wbe" does not exist'),
  })
  expect(await user.supervisor('start', 'web')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('is already running'),
  })
  expect(await json('down')).toEqual({ success: true })
  expect(await user.supervisor('ps')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('start it with "supervisor up"'),
  })
})

test("run waits for the processes and exits with the command's status", async () => {
  const user = await supervisorUser({
    db: {
      cmd: 'sleep 0.2; touch ready; exec sleep 1000',
      healthcheck: { exec: 'test -e ready', interval: '50ms' },
    },
  })
  expect(await user.supervisor('run', '--', 'sh', '-c', 'test -e ready && exit 7')).toMatchObject({
    status: 7,
  })
})

test('init writes a configuration once, and bad usage exits with 2', async () => {
  const user = await supervisorUser({})
  expect(await user.supervisor('init')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('already exists; --force replaces it'),
  })
  writeFileSync(join(user.dir, 'Procfile'), 'web: node server.js\n')
  expect(JSON.parse((await user.supervisor('init', '--force')).stdout)).toMatchObject({ processes: ['web'] })
  expect((await user.supervisor('start')).status).toBe(2)
  expect((await user.supervisor('--url', 'ftp://x', 'ps')).status).toBe(2)
})

test('the configuration file can be named before or after the command', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' } })
  writeFileSync(join(user.dir, 'other.yaml'), 'processes: {a: {cmd: x}, b: {cmd: x}}\n')
  for (const argv of [
    ['-c', 'other.yaml', 'config', 'check'],
    ['config', '-c', 'other.yaml', 'check'],
    ['config', 'check', '--config', 'other.yaml'],
  ]) {
    const { stdout, stderr } = await user.supervisor(...argv)
    expect([stderr, JSON.parse(stdout)]).toEqual(['', expect.objectContaining({ processes: 2 })])
  }
})

test('up --scale sets the number of replicas', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' }, other: { cmd: 'exec sleep 1000' } })
  const { stderr } = await user.supervisor('up', '-d', '--scale', 'web=2')
  expect(stderr).toBe('')
  const { processes } = await user.ask('/processes')
  expect(processes.map(({ name }: { name: string }) => name)).toEqual(['web-1', 'web-2', 'other'])
  expect(await user.supervisor('up', '--scale', 'web')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('It must have the form web=2.'),
  })
  expect(await user.supervisor('up', '--scale', 'wbe=2')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('process "wbe" does not exist; did you mean "web"?'),
  })
})

test('commands act on groups', async () => {
  const long = { cmd: 'echo up; exec sleep 1000' }
  const user = await supervisorUser({
    db: { ...long, groups: ['data'] },
    web: { ...long, groups: ['front'], depends_on: { cache: 'started' } },
    cache: long,
    report: { ...long, schedule: '@every 1s' },
  })
  const statuses = async () =>
    (await user.ask('/processes')).processes.map(({ name, status }: any) => `${name} ${status}`)
  const command = async (...argv: readonly string[]) => {
    const { status, stdout, stderr } = await user.supervisor(...argv)
    return { status, text: stdout + stderr }
  }
  expect(await command('up', '-d', '--group', 'frnt')).toMatchObject({
    status: 1,
    text: expect.stringContaining('group "frnt" does not exist; the groups are data, front'),
  })
  expect(await command('up', '-d', '-g', 'front')).toMatchObject({ status: 0 })
  // What the group depends on is started too.
  expect(await statuses()).toEqual(['db stopped', 'web running', 'cache running', 'report stopped'])
  expect((await command('ps', '--table')).text).toMatch(
    /^NAME +GROUPS +STATUS[^]*^db +data +stopped[^]*^cache +- /m,
  )
  expect((await command('ps', '--group', 'data', '--table')).text).not.toContain('web')
  expect((await command('start', '--group', 'data', '--table')).text).toBe('db is started\n')
  await user.supervisor('reload')
  expect(await statuses()).toEqual(['db running', 'web running', 'cache running', 'report stopped'])
  expect((await command('restart', 'cache', '-g', 'front', '--table')).text).toBe(
    'web is restarted\ncache is restarted\n',
  )
  expect((await command('stop', '-g', 'front', '--table')).text).toBe('web is stopped\n')
  expect(await statuses()).toEqual(['db running', 'web stopped', 'cache running', 'report stopped'])
  expect((await command('logs', '-g', 'data', '--table')).text).toBe('db | up\n')
  for (const each of ['start', 'stop', 'restart', 'logs', 'ps'])
    expect(await command(each, '--group', 'back')).toEqual({
      status: 1,
      text: expect.stringContaining('group "back" does not exist; the groups are data, front'),
    })
  expect(await command('stop')).toMatchObject({
    status: 2,
    text: expect.stringContaining("missing argument 'names', or option '--group <name>'"),
  })
})

test('up without a configuration names the command that writes one', async () => {
  const user = await supervisorUser({})
  rmSync(join(user.dir, 'supervisor.yaml'))
  expect(await user.supervisor('up')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no configuration file found (supervisor.yaml'),
  })
})

test('following exits silently when its reader closes the pipe', async () => {
  const user = await supervisorUser({ noisy: { cmd: 'while :; do echo line; sleep 0.01; done' } })
  await user.up()
  const script = `for i in 1 2 3 4 5; do "$0" "$1" logs -f noisy | head -1 >/dev/null; echo \${PIPESTATUS[0]}; done`
  const { stdout, stderr } = await run('bash', ['-c', script, process.execPath, user.program], {
    cwd: user.dir,
    environment: user.environment,
  })
  expect([stdout, stderr]).toEqual(['0\n'.repeat(5), ''])
})
