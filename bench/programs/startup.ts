import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'
import { corpusJar } from '../../test/support/analyzer/corpora.ts'
import { projectOfClasses } from '../analyzer-corpora.ts'
import { BenchUser, buildPackage } from '../analyzer-server.ts'
import type { Bench, Case } from '../harness.ts'
import { freePort } from '../../test/support/services/free-port.ts'

type Program = 'workspace' | 'supervisor' | 'content-server' | 'analyzer'

interface Run {
  readonly program: Program
  readonly argv: readonly string[]
}

/** A server, and the text that it prints when it is ready. */
interface Server extends Run {
  readonly ready: RegExp
}

const bench: Bench = {
  note:
    'Programs of the built package, compared with the start of Node itself (`node -e 0`). A command is timed until it exits, with a running ' +
    'server if it needs one; a server until it reports that it is ready: the workspace server with this machine’s engine, the ' +
    'supervisor with one process, the analyzer with 2,000 classes already in its store.',

  async prepare() {
    buildPackage()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const user = new BenchUser()
    const servers = await serversIn(folder)
    const environment = {
      ...user.environment,
      WORKSPACE_URL: `http://127.0.0.1:${servers.ports.workspace}`,
      WORKSPACE_LOG__FORMAT: 'json',
    }
    mkdirSync(user.environment['XDG_RUNTIME_DIR'] ?? '', { recursive: true })
    const start = (run: Run) => startProgram(run, folder, environment)
    const answering = await Promise.all(servers.all.map((server) => untilReady(start(server), server)))
    // Timed servers run beside the others, with separate folders and ports.
    const fresh = join(folder, 'fresh')
    mkdirSync(fresh)
    const timed = await serversIn(fresh)
    let running: ChildProcess | undefined
    const stopLast = async (): Promise<void> => {
      if (running !== undefined) await stop(running)
      running = undefined
    }
    const node = () => execFileSync(process.execPath, ['-e', '0'], { env: environment })
    const cases = [
      ...commandsOf(servers.supervisorFile, servers.project).map((run): Case => ({
        name: [run.program, ...run.argv.filter((word) => !/^(?:\/|--(?:config|project)$)/.test(word))].join(
          ' ',
        ),
        ours: () => end(start(run)),
        peer: node,
        peerName: 'Node alone',
      })),
      ...timed.all.map((server): Case => ({
        name: `${server.program}, server`,
        async ours() {
          running = start(server)
          await untilReady(running, server)
        },
        peer: node,
        peerName: 'Node alone',
        beforeEach: stopLast,
      })),
    ]
    return {
      cases,
      async cleanUp() {
        await stopLast()
        await Promise.all(answering.map(stop))
        user.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

function commandsOf(supervisorFile: string, project: string): readonly Run[] {
  const programs: readonly Program[] = ['workspace', 'supervisor', 'content-server', 'analyzer']
  return [
    ...programs.flatMap((program) => ['--version', '--help'].map((flag) => ({ program, argv: [flag] }))),
    { program: 'workspace', argv: ['list'] },
    { program: 'supervisor', argv: ['--config', supervisorFile, 'ps'] },
    { program: 'content-server', argv: ['config', 'show'] },
    { program: 'analyzer', argv: ['status', '--project', project] },
  ]
}

/** Returns all four servers, with their files in a folder. */
async function serversIn(folder: string) {
  const ports = { workspace: await freePort(), supervisor: await freePort() }
  const supervisorFile = join(folder, 'supervisor.yaml')
  writeFileSync(supervisorFile, `api: {port: ${ports.supervisor}}\nprocesses: {idle: {cmd: sleep 1000000}}\n`)
  const contentFile = join(folder, 'docs.yaml')
  const header = 'header_auth: {header: x-user}\n'
  const store = `store: {root: ${folder}}\nsession: {file: ${join(folder, 'sessions.db')}}\n`
  writeFileSync(contentFile, `http: {port: 0, trusted_proxies: [127.0.0.1]}\n${header}${store}`)
  const project = projectOfClasses(join(folder, 'project'), [corpusJar('guava-')])
  const all: readonly Server[] = [
    {
      program: 'workspace',
      argv: [
        'serve',
        '--http-port',
        String(ports.workspace),
        '--ssh-port',
        '0',
        '--state-dir',
        join(folder, 'state'),
      ],
      ready: /workspace server is ready/,
    },
    {
      program: 'supervisor',
      argv: ['--config', supervisorFile, 'up', '--quiet'],
      ready: /supervisor is ready/,
    },
    { program: 'content-server', argv: ['--config', contentFile, 'serve'], ready: /content server is ready/ },
    { program: 'analyzer', argv: ['serve', '--project', project], ready: /^ANALYZER_READY /m },
  ]
  return { ports, supervisorFile, project, all }
}

function startProgram({ program, argv }: Run, cwd: string, env: NodeJS.ProcessEnv): ChildProcess {
  const file = join(packageRoot, `dist/src/bin/${program}.js`)
  return spawn(process.execPath, [file, ...argv], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

function untilReady(child: ChildProcess, { program, ready }: Server): Promise<ChildProcess> {
  let said = ''
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (ready.test(said)) resolve(child)
      })
    child.once('exit', () => reject(new Error(`${program} exited: ${said}`)))
  })
}

async function end(child: ChildProcess): Promise<void> {
  child.stdout?.resume()
  child.stderr?.resume()
  const [status] = (await once(child, 'exit')) as [number | null]
  if (status !== 0) throw new Error(`${child.spawnargs.join(' ')} exited with ${status}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}
