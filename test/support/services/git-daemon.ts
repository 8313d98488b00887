import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { run } from '../../../src/lib/process/run.ts'
import { waitFor } from '../wait-for.ts'
import { freePort } from './free-port.ts'

/** Git server of a test. */
export interface GitDaemon {
  /** Base URL of the repositories: `git://127.0.0.1:port/`. */
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Serves a repository at `path` below the URL, with one commit of the given files on branch `master`. */
export async function serveRepository(
  path: string,
  files: Readonly<Record<string, string>>,
): Promise<GitDaemon> {
  const root = mkdtempSync(join(tmpdir(), 'workspace-git-'))
  const repository = join(root, path)
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(repository, file)), { recursive: true })
    writeFileSync(join(repository, file), content)
  }
  const git = (...argv: readonly string[]) =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...argv])
  git('init', '-q', '-b', 'master')
  git('add', '-A')
  git('commit', '-q', '-m', 'first')

  const port = await freePort()
  const url = `git://127.0.0.1:${port}/`
  const daemon = spawn(
    'git',
    ['daemon', '--export-all', '--reuseaddr', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${root}`],
    // A separate process group, because `git daemon` is a child of git.
    { stdio: 'ignore', detached: true },
  )
  await waitFor('git daemon', async () => (await run('git', ['ls-remote', `${url}${path}`])).status === 0)
  return {
    url,
    async stop() {
      await end(daemon)
      rmSync(root, { recursive: true, force: true })
    },
  }
}

async function end(daemon: ChildProcess): Promise<void> {
  const exit = once(daemon, 'exit')
  if (daemon.pid !== undefined) process.kill(-daemon.pid, 'SIGKILL')
  await exit
}
