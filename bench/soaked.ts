import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { packageRoot } from '../src/lib/process/package.ts'
import { answers } from '../test/support/answers.ts'
import { cheapHash } from '../test/support/content/cheap-hash.ts'
import { corpusJar } from '../test/support/analyzer/corpora.ts'
import { ran } from '../test/support/package/installed.ts'
import { openSsh } from '../test/support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../test/support/wait-for.ts'
import { ChangingClass, projectOfClasses } from './analyzer-corpora.ts'
import { questionsAbout } from './analyzer-questions.ts'
import { BenchUser } from './analyzer-server.ts'
import { startOurs } from './content-servers.ts'
import { processTree } from './process-memory.ts'
import { serve } from './served.ts'
import { API_PORT, contenders } from './supervisor-peers.ts'

/** A program that is used in rounds. */
export interface Soaked {
  readonly name: string
  /** Returns its own processes, without those that it runs for users. */
  readonly pids: () => readonly number[]
  /** Uses all its features once; rejects on the first failure. */
  readonly round: (n: number) => Promise<void>
  readonly stop: () => unknown
}

/** Starts a workspace server whose rounds create, use and delete workspaces. */
export async function soakedWorkspaces(): Promise<Soaked> {
  const server = await serve()
  const ssh = await openSsh(server)
  return {
    name: 'workspace',
    pids: () => processTree(server.pid),
    async round(n) {
      const name = `soak-${process.pid}-${n}`
      const events = new AbortController()
      await fetch(`${server.url}/api/events`, { signal: events.signal })
      await server.post('/api/workspaces', { name })
      try {
        for (let i = 0; i < 3; i++)
          await ran(['ssh', ...ssh.argv(name), 'head -c 4000000 /dev/zero | tail -c 1'])
        await read(`${server.url}/api/usage`)
        await read(`${server.url}/api/workspaces/${name}/sessions`)
        await server.post(`/api/workspaces/${name}/stop`)
        await server.post(`/api/workspaces/${name}/start`)
        await read(`${server.url}/api/system/df`)
      } finally {
        await server.delete(`/api/workspaces/${name}`)
        events.abort()
      }
    },
    async stop() {
      ssh.remove()
      await server.stop()
    },
  }
}

/** Starts a supervisor with processes that crash, log and sleep. */
export async function soakedSupervisor(): Promise<Soaked> {
  const [ours] = contenders()
  const running = ours?.start({
    crashes: 'sleep 0.2; exit 1',
    talks: 'while :; do echo a line of words that somebody may want to read; sleep 0.001; done',
    sleeps: 'sleep 1000000',
  })
  if (running === undefined) throw new Error('our supervisor is missing')
  const api = `http://127.0.0.1:${API_PORT}/api/v1`
  await waitFor('the supervisor', () => answers(`${api}/status`))
  return {
    name: 'supervisor',
    pids: () => [running.pid()],
    async round() {
      const reader = new AbortController()
      await fetch(`${api}/logs/stream`, { signal: reader.signal })
      try {
        for (const path of ['processes', 'usage', 'logs?lines=1000', 'status']) await read(`${api}/${path}`)
        await read(`${api}/processes/sleeps/restart`, { method: 'POST' })
        await delay(100)
      } finally {
        reader.abort()
      }
    },
    stop: running.stop,
  }
}

/** Starts a content server whose rounds publish, read and search a site. */
export async function soakedContent(folder: string): Promise<Soaked> {
  const dir = join(folder, 'content')
  const site = join(dir, 'site')
  mkdirSync(site, { recursive: true })
  const store = { type: 'fs', root: join(dir, 'store') }
  const server = await startOurs(dir, store)
  const program = join(packageRoot, 'dist/src/bin/content-server.js')
  const environment = {
    ...process.env,
    CONTENT_STORE__ROOT: store.root,
    CONTENT_PASSWORD_HASH: cheapHash('right'),
  }
  const headers = { cookie: server.cookie }
  return {
    name: 'content-server',
    pids: () => [server.pid],
    async round(n) {
      for (let page = 0; page < 20; page++) {
        const words = `page ${page} of edition ${n}`
        writeFileSync(
          join(site, `${page}.html`),
          `<!doctype html><title>${words}</title><p>${words.repeat(500)}`,
        )
      }
      const publish = ['publish', site, '--repo', `guide-${n % 5}`]
      await ran([process.execPath, program, ...publish], { environment })
      await read(`${server.url}/_admin/cache/purge`, { method: 'POST', headers })
      for (let page = 0; page < 20; page++)
        await read(`${server.url}/repos/guide-${n % 5}/${page}.html`, { headers })
      await read(`${server.url}/_api/search?q=edition`, { headers })
      await read(`${server.url}/_api/repos`, { headers })
      const body = new URLSearchParams({ password: 'right' })
      await read(`${server.url}/_login`, { method: 'POST', body, redirect: 'manual' })
    },
    stop: server.stop,
  }
}

/** Starts an analyzer server whose rounds change a class and ask questions. */
export async function soakedAnalyzer(folder: string): Promise<Soaked> {
  const root = projectOfClasses(join(folder, 'classes'), [corpusJar('guava-')])
  const changing = new ChangingClass(mkdtempSync(join(folder, 'changing-')))
  const user = new BenchUser()
  const server = await user.serve(root)
  const questions = [...(await questionsAbout(server, 100, 1)).values()]
  return {
    name: 'analyzer',
    pids: () => [server.pid],
    async round(n) {
      copyFileSync(join(changing.next(), 'Changing.class'), join(root, 'target/classes/Changing.class'))
      await server.refresh()
      for (const kind of questions) await server.get(kind[n % kind.length] ?? '')
    },
    async stop() {
      await server.stop()
      user.remove()
    },
  }
}

/** Reads a complete response; rejects unless it is a success or redirect. */
async function read(url: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(url, init)
  const body = await response.text()
  if (response.status >= 400) throw new Error(`${url}: ${response.status} ${body}`)
}
