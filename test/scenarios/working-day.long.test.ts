import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../src/lib/process/run.ts'
import { docker, leftovers, removeLeftovers, uniqueName } from '../support/engine/docker.ts'
import { type OpenSsh, openSsh } from '../support/workspace/ssh/open-ssh.ts'
import { rounds } from '../support/rounds.ts'
import { serve } from '../support/served.ts'
import { tempDir } from '../support/temp-dir.ts'
import { waitFor } from '../support/wait-for.ts'
import { makeWorkspace } from '../support/workspace/server/test-server.ts'

const FOLDERS = 100
const FILES_IN_EACH = rounds(100, 500)
const CHANNELS = 50
const FORWARDS = 20

/**
 * The day of an editor and its user: many channels and forwards over one connection, a large upload interrupted by a server
 * restart, resumed and downloaded again, and a tmux session that survives all of it.
 */
test('a working day loses nothing', { timeout: 600_000 }, async () => {
  const home = tempDir()
  const options = { stateDir: join(home, 'state') }
  let server = await serve(options)
  const ports = { httpPort: Number(new URL(server.url).port), sshPort: server.sshPort }
  const name = uniqueName('day')
  onTestFinished(() => removeLeftovers(name))
  await makeWorkspace(server.url, { name })
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())

  expect((await ssh.run(name, 'tmux new-session -d -s day "sleep 3600"')).status).toBe(0)
  await storm(ssh, name)

  const tree = join(home, 'tree')
  makeTree(tree)
  const files = FOLDERS * FILES_IN_EACH
  const arrived = async () =>
    Number(await docker('exec', `ws-${name}`, 'sh', '-c', 'find /workspace/tree -type f 2>/dev/null | wc -l'))
  const cutShort = rsync(ssh, name, `${tree}/`, '127.0.0.1:tree/')
  await waitFor('part of the tree', async () => (await arrived()) > files / 10, 120_000)
  await server.end('SIGTERM')
  expect(await cutShort).not.toBe(0)
  expect(await arrived()).toBeLessThan(files)

  server = await serve({ ...options, ...ports })
  expect(await rsync(ssh, name, `${tree}/`, '127.0.0.1:tree/')).toBe(0)
  expect(await arrived()).toBe(files)
  const back = join(home, 'back')
  expect(await rsync(ssh, name, '127.0.0.1:tree/', `${back}/`)).toBe(0)
  expect(hashOf(back)).toBe(hashOf(tree))

  const { sessions } = (await server.api(`workspaces/${name}/sessions`)).body
  expect(sessions).toMatchObject([{ name: 'day' }])
  expect((await server.api(`workspaces/${name}`, 'DELETE')).status).toBe(204)
  expect(await leftovers(name)).toEqual([])
})

/** Runs concurrent commands and forwarded connections over one SSH connection. */
async function storm(ssh: OpenSsh, name: string): Promise<void> {
  const inside = createServer((socket) => socket.end('inside'))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  const { port } = inside.address() as { port: number }
  const control = ['-S', join(ssh.directory, 'master')]
  const master = spawn('ssh', [...ssh.argv(name, ...control, '-M', '-N', '-T')], { stdio: 'ignore' })
  onTestFinished(() => void master.kill())
  await waitFor('the master', async () => (await run('ssh', [...control, '-O', 'check', 'x'])).status === 0)

  const commands = Array.from({ length: CHANNELS }, (_, i) =>
    ssh.run(name, `sleep 0.5; echo ${i}`, { flags: control }),
  )
  const forwards = Array.from({ length: FORWARDS }, () =>
    run('ssh', [...ssh.argv(name, ...control, '-W', `localhost:${port}`)]),
  )
  const said = (await Promise.all(commands)).map(({ stdout }) => stdout.toString())
  expect(said).toEqual(Array.from({ length: CHANNELS }, (_, i) => `${i}\n`))
  for (const { stdout } of await Promise.all(forwards)) expect(stdout).toBe('inside')
}

function makeTree(root: string): void {
  for (let folder = 0; folder < FOLDERS; folder++) {
    const path = join(root, `folder ${folder}`)
    mkdirSync(path, { recursive: true })
    for (let file = 0; file < FILES_IN_EACH; file++) {
      writeFileSync(join(path, `file-${file}.txt`), `${folder} ${file}\n`.repeat(1 + (file % 40)), {
        mode: file % 7 === 0 ? 0o755 : 0o644,
      })
    }
    symlinkSync('file-0.txt', join(path, 'ünï link'))
  }
}

/** Uses --delete because an interrupted rsync can leave a temporary file. */
async function rsync(ssh: OpenSsh, name: string, from: string, to: string): Promise<number | null> {
  // rsync inserts the host into the command.
  const [host, ...rest] = ssh.argv(name).toReversed()
  const command = ['ssh', ...rest.toReversed()].map((word) => `'${word}'`).join(' ')
  expect(host).toBe('127.0.0.1')
  return (await run('rsync', ['-a', '--delete', '-e', command, from, to])).status
}

/** Returns one hash over names, link targets and contents. */
function hashOf(root: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(root, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => [join(entry.parentPath, entry.name), entry] as const)
  for (const [path, entry] of paths.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(path.slice(root.length))
    if (entry.isSymbolicLink()) hash.update(readlinkSync(path))
    else if (entry.isFile()) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}
