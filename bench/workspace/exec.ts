import Docker from 'dockerode'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { openSsh } from '../../test/support/workspace/ssh/open-ssh.ts'
import type { Bench } from '../harness.ts'
import { serve } from '../served.ts'

const AT_ONCE = 64
const PROGRAMS = 256
const MEGABYTES = 100

const bench: Bench = {
  note:
    "Programs and files over the server's API, which runs in a separate process. The engine's exec is three requests to its API: " +
    'create, start with the output read to its end, and inspect for the exit status. Files go through curl; sftp is OpenSSH’s client through the same server.',

  async prepare() {
    const server = await serve()
    const ssh = await openSsh(server)
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const name = `bench-${process.pid}`
    await server.post('/api/workspaces', { name })
    const at = `${server.url}/api/workspaces/${name}`
    const run = async (): Promise<void> => {
      const response = await fetch(`${at}/exec`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"argv": ["true"]}',
      })
      const { exit_status: status } = (await response.json()) as { readonly exit_status?: number }
      if (status !== 0) throw new Error(`true exited with ${status}`)
    }
    const container = new Docker().getContainer(`ws-${name}`)
    const runByEngine = async (): Promise<void> => {
      const exec = await container.exec({ Cmd: ['true'], AttachStdout: true, AttachStderr: true })
      await finished((await exec.start({})).resume())
      if ((await exec.inspect()).ExitCode !== 0) throw new Error('true failed')
    }
    const file = join(folder, 'file')
    writeFileSync(file, Buffer.alloc(MEGABYTES * 1e6, 'content '))
    const curl = ['curl', '-s', '-f', `${at}/files?path=file`] as const
    const sftp = (command: string): void => {
      execFileSync('sftp', [...ssh.options, '-b', '-', `${name}@127.0.0.1`], {
        input: command,
        stdio: 'pipe',
      })
    }
    return {
      cases: [
        { name: 'run `true`', ours: run, peer: runByEngine, peerName: "the engine's exec" },
        {
          name: `${PROGRAMS} × \`true\`, ${AT_ONCE} at once`,
          ours: () => manyTimes(run),
          peer: () => manyTimes(runByEngine),
          peerName: "the engine's exec",
        },
        {
          name: `write ${MEGABYTES} MB`,
          ours: [...curl, '-T', file],
          peer: () => sftp(`put ${file} /workspace/file`),
          peerName: 'sftp',
          megabytes: MEGABYTES,
        },
        {
          name: `read ${MEGABYTES} MB`,
          ours: [...curl, '-o', `${folder}/back`],
          peer: () => sftp(`get /workspace/file ${folder}/back`),
          peerName: 'sftp',
          megabytes: MEGABYTES,
        },
      ],
      async cleanUp() {
        await server.delete(`/api/workspaces/${name}`)
        await server.stop()
        ssh.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

async function manyTimes(work: () => Promise<void>): Promise<void> {
  let left = PROGRAMS
  const worker = async (): Promise<void> => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
