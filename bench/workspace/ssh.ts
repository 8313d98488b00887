import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../harness.ts'
import { serve } from '../served.ts'

const bench: Bench = {
  note:
    'One command that does nothing, from the client’s start to its exit: OpenSSH’s client through our server, which runs in ' +
    'a separate process, and Docker’s client. Over a master connection, key exchange and login are already done.',

  async prepare() {
    const server = await serve()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const name = `bench-${process.pid}`
    await server.post('/api/workspaces', { name })
    const key = join(folder, 'key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    const target = ['-p', String(server.sshPort), `${name}@127.0.0.1`]
    const options = ['-F', 'none', '-i', key, '-o', 'IdentitiesOnly=yes', '-o', 'StrictHostKeyChecking=no']
    const quiet = ['-o', `UserKnownHostsFile=${folder}/known_hosts`, '-o', 'LogLevel=ERROR']
    const socket = ['-S', join(folder, 'master')]
    const ssh = ['ssh', ...options, ...quiet, ...target, 'true'] as const
    const overMaster = ['ssh', ...socket, ...options, ...quiet, ...target, 'true'] as const
    execFileSync('ssh', ['-M', '-N', '-f', ...socket, ...options, ...quiet, ...target], { stdio: 'ignore' })
    const exec = ['docker', 'exec', `ws-${name}`, 'true'] as const
    return {
      cases: [
        { name: 'ssh WORKSPACE true', ours: ssh, peer: exec, peerName: 'docker exec' },
        {
          name: 'ssh WORKSPACE true, over a master connection',
          ours: overMaster,
          peer: exec,
          peerName: 'docker exec',
        },
        {
          name: 'ssh WORKSPACE true, over a master connection',
          ours: overMaster,
          peer: ssh,
          peerName: 'separate ssh',
        },
      ],
      async cleanUp() {
        execFileSync('ssh', ['-O', 'exit', ...socket, ...options, ...quiet, ...target], { stdio: 'ignore' })
        await server.delete(`/api/workspaces/${name}`)
        await server.stop()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench
