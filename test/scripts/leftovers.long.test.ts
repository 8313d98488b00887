import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listObjects } from '../../scripts/suites/objects.ts'
import { isAlive } from '../../src/lib/process/is-alive.ts'
import { packageRoot } from '../../src/lib/process/package.ts'
import { docker, uniqueName } from '../support/engine/docker.ts'
import { canMount, mountFileSystem } from '../support/files/file-systems.ts'
import { tempDir } from '../support/temp-dir.ts'
import { waitFor } from '../support/wait-for.ts'

/**
 * Returns arguments of bash that run suites as .ci/run does, but beside other tests. In `script`, "$DAEMON" is a command
 * that starts a daemon: a new session, a parent that has ended, and the output of the suite, which stays open. It
 * writes its process id to `pidFile`.
 */
function suites(script: string) {
  const directory = tempDir()
  const pidFile = join(directory, 'pid')
  const daemon = `setsid -f sh -c 'echo $$ >${pidFile}; exec sleep 1000'`
  const lines = [
    '. scripts/steps/suites.sh',
    `reports=${directory}/reports alone=no settle_seconds=1 DAEMON=$0`,
    script,
    'sum_up',
  ]
  return { argv: ['-c', lines.join('\n'), daemon], pidFile }
}

test('a suite fails by each process and file that it leaves behind, and a clean suite passes', () => {
  const { argv, pidFile } = suites(`
suite clean 1 sh -c 'sleep 0.1 & touch "$TMPDIR/file"; rm "$TMPDIR/file"; wait; echo "1 passed, 0 failed"'
suite dirty 1 sh -c "$DAEMON"'; mkdir -p "$TMPDIR/made/by-it"; echo "1 passed, 0 failed"'`)
  const { status, stdout } = spawnSync('bash', argv, { cwd: packageRoot, encoding: 'utf8' })
  const pid = Number(readFileSync(pidFile, 'utf8'))
  expect(stdout).toMatch(/^clean +1 +0 /m)
  expect(stdout).toMatch(/^dirty +1 +2 /m)
  const found = `process ${pid}, \\d+ s old, child of \\d+, in ${packageRoot}: sleep 1000`
  expect(stdout).toMatch(RegExp(`^FAILED dirty: left behind: ${found}$`, 'm'))
  expect(stdout).toMatch(/^FAILED dirty: left behind: file \S+\/made by-it$/m)
  expect(isAlive(pid)).toBe(false)
  expect(status).toBe(1)
})

test('a signal ends the suite that runs, with its daemons', async () => {
  const { argv, pidFile } = suites('suite endless 1 sh -c "$DAEMON; sleep 1000"')
  const script = spawn('bash', argv, { cwd: packageRoot, stdio: 'ignore' })
  const ended = once(script, 'exit')
  const pidText = () => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8') : '')
  await waitFor('the daemon', () => pidText() !== '')
  script.kill('SIGTERM')
  expect(await ended).toEqual([143, null])
  expect(isAlive(Number(pidText()))).toBe(false)
})

test('volumes and network devices are listed with their names', async () => {
  const name = uniqueName('leftover')
  await docker('volume', 'create', '--label', 'made=here', name)
  onTestFinished(() => docker('volume', 'rm', name).then(() => undefined))
  const objects = await listObjects()
  expect(objects).toContain(`volume ${name} made=here`)
  expect(objects).toContain('network device lo')
})

test.runIf(canMount)('mounts are listed with their loop devices', async () => {
  const path = mountFileSystem('ext4', 2 ** 20)
  const objects = await listObjects()
  expect(objects).toContainEqual(expect.stringMatching(`^mount ${path} of ext4 /dev/loop`))
  expect(objects).toContainEqual(expect.stringMatching(/^loop device loop\d+ of .*\/disk.img$/))
})

test('a volume with several labels is the same object each time', async () => {
  const name = uniqueName('labels')
  const labels = 'abcdefgh'.split('').flatMap((key) => ['--label', `${key}=1`])
  await docker('volume', 'create', ...labels, name)
  onTestFinished(async () => void (await docker('volume', 'rm', name)))
  const seen = new Set<string>()
  for (let i = 0; i < 5; i++)
    for (const object of await listObjects()) if (object.startsWith(`volume ${name} `)) seen.add(object)
  expect([...seen]).toEqual([`volume ${name} a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1`])
})
