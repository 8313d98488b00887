import { execFileSync } from 'node:child_process'
import { serveRepository } from '../../test/support/services/git-daemon.ts'
import type { Bench } from '../harness.ts'
import { serve } from '../served.ts'

const IMAGE = 'workspace-base:1'
const FILES = 200

const bench: Bench = {
  note:
    `From the request to a running container with a repository of ${FILES} files in it, cloned from this machine over ` +
    'git://; both sides use the host network. Ours is POST /api/workspaces of a server in a separate process: it creates a volume, ' +
    'an init, and a marker on disk that survives a crash. The peers are `docker run -d` and `docker exec … git clone`.',

  async prepare() {
    const content = 'x'.repeat(4096)
    const files = Array.from(
      { length: FILES },
      (_, i) => [`d${i % 20}/f${i}.txt`, `${i} ${content}`] as const,
    )
    const daemon = await serveRepository('bench/repo', Object.fromEntries(files))
    const server = await serve()
    const repo = `${daemon.url}bench/repo`
    const made: string[] = []
    const peers: string[] = []
    const ours = async (): Promise<void> => {
      const name = `bench-${process.pid}-${made.length}`
      made.push(name)
      await server.post('/api/workspaces', { name, repo })
    }
    const peer = (options: (name: string) => readonly string[]) => (): void => {
      const name = `bench-peer-${process.pid}-${peers.length}`
      peers.push(name)
      docker('run', '-d', '--name', name, '--network', 'host', ...options(name), IMAGE, 'sleep', 'infinity')
      docker('exec', name, 'git', 'clone', '-q', repo, '/workspace')
    }
    return {
      cases: [
        { name: 'create', ours, peer: peer(() => []), peerName: 'docker run, exec' },
        {
          name: 'create',
          ours,
          peer: peer((name) => ['--init', '-v', `${name}:/workspace`]),
          peerName: 'docker run --init -v, exec',
        },
      ],
      async cleanUp() {
        for (const name of made) await server.delete(`/api/workspaces/${name}`)
        for (const name of peers) docker('rm', '-f', name)
        docker('volume', 'rm', '-f', ...peers)
        await server.stop()
        await daemon.stop()
      },
    }
  },
}
export default bench

function docker(...argv: readonly string[]): void {
  execFileSync('docker', argv, { stdio: ['ignore', 'ignore', 'inherit'] })
}
