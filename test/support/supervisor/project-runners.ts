import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { compileCache } from '../compile-cache.ts'
import { freePort } from '../services/free-port.ts'
import { makeTempDir } from '../temp-dir.ts'

const PEERS = join(packageRoot, '.node/peers')
/** Time after which a running project is interrupted. */
const LIMIT_MS = 15_000

/** Outcome of a project. */
export interface ProjectRun {
  /** `running` for an interrupted project. */
  readonly status: number | 'running' | null
  /** Lines of all processes, `NAME: LINE`, sorted. */
  readonly lines: readonly string[]
}

/** Runs a project with a tool and with the supervisor, each in a folder filled by `fill`. */
export async function runBoth(
  runPeer: (file: string, cwd: string, groups: readonly string[]) => Promise<ProjectRun>,
  fill: (dir: string) => string,
  groups: readonly string[] = [],
): Promise<{ readonly theirs: ProjectRun; readonly ours: ProjectRun }> {
  const { path, remove } = makeTempDir()
  try {
    const file = fill(path)
    return { theirs: await runPeer(file, path, groups), ours: await runSupervisor(file, path, groups) }
  } finally {
    remove()
  }
}

/** Runs a project file with process-compose. */
export function runProcessCompose(
  file: string,
  cwd: string,
  groups: readonly string[] = [],
): Promise<ProjectRun> {
  const program = brought('process-compose')
  const only = groups.flatMap((each) => ['-n', each])
  return runProject(
    [program, '-f', file, '-t=false', '--no-server', ...only, 'up'],
    cwd,
    /^\[(\S+)\s*\] (.*\S)/,
  )
}

/** Runs a Procfile with honcho. */
export function runHoncho(file: string, cwd: string): Promise<ProjectRun> {
  return runProject([brought('honcho/bin/honcho'), '-f', file, 'start'], cwd, /^\S+ (\S+)\.1\s*\| (.*\S)/)
}

/** Runs a Procfile with foreman. */
export function runForeman(file: string, cwd: string): Promise<ProjectRun> {
  return runProject(
    ['foreman', 'start', '-f', file],
    cwd,
    /^\S+ (\S+)\.1\s*\| (?!started with pid|exited with code|terminated by)(.*\S)/,
  )
}

/** Runs a project file with `supervisor up`. */
async function runSupervisor(file: string, cwd: string, groups: readonly string[]): Promise<ProjectRun> {
  const program = join(packageRoot, 'src/bin/supervisor.ts')
  const port = String(await freePort())
  const only = groups.flatMap((each) => ['--group', each])
  return runProject(
    [process.execPath, program, 'up', '-c', file, '--port', port, ...only],
    cwd,
    /^(\S+)\s*\| (.*\S)/,
  )
}

function brought(name: string): string {
  const path = join(PEERS, name)
  if (!existsSync(path)) throw new Error(`${path} is missing: run scripts/project-runners`)
  return path
}

function runProject(
  [program = '', ...argv]: readonly string[],
  cwd: string,
  line: RegExp,
): Promise<ProjectRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, {
      cwd,
      // Neither tool must find this user's files.
      env: { ...compileCache, PATH: process.env['PATH'], HOME: cwd, USER: 'tester', PYTHONUNBUFFERED: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let isInterrupted = false
    const interrupt = setTimeout(() => {
      isInterrupted = true
      child.kill('SIGINT')
    }, LIMIT_MS)
    const kill = setTimeout(() => child.kill('SIGKILL'), 2 * LIMIT_MS)
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.resume()
    child.on('error', reject)
    child.on('close', (status) => {
      clearTimeout(interrupt)
      clearTimeout(kill)
      const lines = stripVTControlCharacters(output).split('\n')
      const printed = lines.flatMap((text) => {
        const [, name, said] = line.exec(text) ?? []
        return name === undefined ? [] : [`${name}: ${said}`]
      })
      resolve({ status: isInterrupted ? 'running' : status, lines: printed.toSorted() })
    })
  })
}
