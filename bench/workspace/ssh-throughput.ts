import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, Case } from '../harness.ts'
import { serve } from '../served.ts'
import { echoBesideDownload, idleConnections } from '../ssh-load.ts'
import { startSshd } from '../sshd.ts'

const MEGABYTES = 256
const CIPHERS = ['aes128-gcm@openssh.com', 'chacha20-poly1305@openssh.com']

const bench: Bench = {
  note:
    `${MEGABYTES} MB of zeros through OpenSSH's client, from its start to its end. Ours is a server in processes of its own, as it ` +
    'is shipped; the peer is OpenSSH’s sshd in a container of the same image, key exchange curve25519 for both. Programs ' +
    'run in the container on both sides; ours has the engine start them, and passes their bytes itself.',

  async prepare() {
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const key = join(folder, 'key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    const zeros = join(folder, 'zeros')
    writeFileSync(zeros, '')
    truncateSync(zeros, MEGABYTES * 1e6)
    const make = ['truncate', '-s', String(MEGABYTES * 1e6), '/workspace/zeros']
    const server = await serve()
    const name = `bench-${process.pid}`
    await server.post('/api/workspaces', { name })
    execFileSync('docker', ['exec', `ws-${name}`, ...make])
    const sshd = await startSshd(readFileSync(`${key}.pub`, 'utf8').trim())
    sshd.run(...make)

    const options = (port: number) =>
      `-F none -i ${key} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=${folder}/known_hosts ` +
      `-o LogLevel=ERROR -o KexAlgorithms=curve25519-sha256 -o Port=${port}`
    const sides = [
      { at: `${name}@127.0.0.1`, options: options(server.sshPort) },
      { at: `${sshd.user}@127.0.0.1`, options: options(sshd.port) },
    ] as const
    const versus = (
      what: string,
      command: (options: string, at: string) => string,
      megabytes?: number,
    ): Case => {
      const [ours, peer] = sides.map((side) => ['sh', '-c', command(side.options, side.at)] as const)
      if (ours === undefined || peer === undefined) throw new Error('two sides')
      return { name: what, ours, peer, peerName: 'sshd', ...(megabytes !== undefined && { megabytes }) }
    }
    const cases = CIPHERS.flatMap((cipher) => {
      const c = `-o Ciphers=${cipher}`
      const short = cipher.replace('@openssh.com', '')
      return [
        versus(
          `down, cat, ${short}`,
          (o, at) => `ssh ${o} ${c} ${at} 'cat /workspace/zeros' >/dev/null`,
          MEGABYTES,
        ),
        versus(`up, cat, ${short}`, (o, at) => `ssh ${o} ${c} ${at} 'cat >/dev/null' <${zeros}`, MEGABYTES),
        versus(
          `sftp get, ${short}`,
          (o, at) => `sftp -q ${o} ${c} ${at}:/workspace/zeros /dev/null >/dev/null`,
          MEGABYTES,
        ),
        versus(
          `sftp put, ${short}`,
          (o, at) => `echo 'put ${zeros} /dev/null' | sftp -q ${o} ${c} -b - ${at} >/dev/null`,
          MEGABYTES,
        ),
      ]
    })
    const login = versus('ssh true, a connection of its own', (o, at) => `ssh ${o} ${at} true`)
    const setUp = versus(
      'connection and login, no program',
      (o, at) => `ssh ${o} -W 127.0.0.1:1 ${at} </dev/null 2>/dev/null || true`,
    )
    return {
      cases: [...cases, login, setUp],
      async more() {
        const privateKey = readFileSync(key, 'utf8')
        const rows = ['| what | ours | sshd |', '| --- | ---: | ---: |']
        const clients = [
          { port: server.sshPort, username: name, privateKey },
          { port: sshd.port, username: sshd.user, privateKey },
        ]
        const echoes = []
        for (const [index, client] of clients.entries()) {
          const side = sides[index]
          if (side === undefined) continue
          echoes.push(
            await echoBesideDownload(client, `ssh ${side.options} ${side.at} 'cat /dev/zero' >/dev/null`),
          )
        }
        const [ours, peer] = echoes
        rows.push(`| echo of one byte, nothing else, p50 / p95 | ${ours?.idle} | ${peer?.idle} |`)
        rows.push(
          `| echo of one byte beside a download on another connection, p50 / p95 | ${ours?.busy} | ${peer?.busy} |`,
        )
        // A server of its own: one that has moved data holds memory that it would use again.
        const fresh = await serve()
        const workers = childrenOf(fresh.pid)
        const perConnection = await idleConnections(
          { port: fresh.sshPort, username: name, privateKey },
          1_000,
          () => residentKilobytes([fresh.pid, ...workers]),
        )
        await fresh.stop()
        rows.push(`| memory for each of 1,000 idle connections | ${perConnection.toFixed(0)} KB | |`)
        return rows.join('\n')
      },
      async cleanUp() {
        sshd.stop()
        await server.delete(`/api/workspaces/${name}`)
        await server.stop()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== '')
      .map(Number),
  )
}

function residentKilobytes(pids: readonly number[]): number {
  return pids.reduce(
    (sum, pid) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    0,
  )
}
