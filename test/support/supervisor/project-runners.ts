import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { compileCache } from '../compile-cache.ts'
import { freePort } from '../services/free-port.ts'
import { makeTempDir } from '../temp-dir.ts'
import { contradictions, readEvents, readProcesses, RECORDING_SHELL } from './project-events.ts'

const PEERS = join(packageRoot, '.node/peers')
/** Time after which a tool is killed that does not end … */
const LIMIT_MS = 100_000
/** … or that was interrupted: process-compose can hang then. */
const GRACE_MS = 15_000

/** Outcome of a project. */
export interface ProjectRun {
  /** `running` for an interrupted project. */
  readonly status: number | 'running' | null
  /** Lines of each process, in order. */
  readonly lines: Readonly<Record<string, readonly string[]>>
  /** Exit statuses that the tool reports of the runs of each process, in order, without those that signals ended. */
  readonly exits: Readonly<Record<string, readonly number[]>>
  /** Contradictions to the order and the minimum times that the project prescribes. */
  readonly contradictions: readonly string[]
}

/** A tool's command, and how to read its output. */
interface Tool {
  readonly argv: readonly string[]
  /** Matches a line of a process: its name and text. */
  readonly line: RegExp
  /** Matches the report of an exit: `name` and `status`. */
  readonly exit: RegExp
  /** File, relative to the folder, with such reports. */
  readonly log?: string
}

/** How a project is run. */
interface Way {
  /** Only processes of these groups; default: all. */
  readonly groups?: readonly string[]
  /** Interrupts a project that does not end by itself. */
  readonly interruptAfterMs?: number
}

/** Runs a project file with a tool. */
export type RunProject = (file: string, cwd: string, way: Way) => Promise<ProjectRun>

/** Runs a project with a tool and with the supervisor, each in a folder filled by `fill`. */
export async function runBoth(
  runPeer: RunProject,
  fill: (dir: string) => string,
  way: Way = {},
): Promise<{ readonly theirs: ProjectRun; readonly ours: ProjectRun }> {
  const run = async (runOne: RunProject): Promise<ProjectRun> => {
    const { path, remove } = makeTempDir()
    try {
      return await runOne(fill(path), path, way)
    } finally {
      remove()
    }
  }
  return { theirs: await run(runPeer), ours: await run(runSupervisor) }
}

/** Runs a project file with process-compose. */
export const runProcessCompose: RunProject = (file, cwd, way) => {
  const program = installedPeer('process-compose')
  const only = (way.groups ?? []).flatMap((each) => ['-n', each])
  const log = '.project.log'
  const argv = [program, '-f', file, '-t=false', '--no-server', '-L', join(cwd, log), ...only, 'up']
  const exit = /Exited exit_code=(?<status>\d+) process=(?<name>\S+)/
  return runProject({ argv, line: /^\[(\S+)\s*\] (.*\S)/, exit, log }, file, cwd, way)
}

/** Runs a Procfile with honcho. */
export const runHoncho: RunProject = (file, cwd, way) =>
  runProject(
    {
      argv: [installedPeer('honcho/bin/honcho'), '-f', file, 'start'],
      line: /^\S+ (\S+)\.1\s*\| (.*\S)/,
      exit: /\| (?<name>\S+)\.1 stopped \(rc=(?<status>\d+)\)/,
    },
    file,
    cwd,
    way,
  )

/** Runs a Procfile with foreman. */
export const runForeman: RunProject = (file, cwd, way) =>
  runProject(
    {
      argv: ['foreman', 'start', '-f', file],
      line: /^\S+ (\S+)\.1\s*\| (?!started with pid|exited with code|terminated by)(.*\S)/,
      exit: /^\S+ (?<name>\S+)\.1\s*\| exited with code (?<status>\d+)/,
    },
    file,
    cwd,
    way,
  )

/** Runs a project file with `supervisor up`. */
const runSupervisor: RunProject = async (file, cwd, way) => {
  const program = join(packageRoot, 'src/bin/supervisor.ts')
  const port = String(await freePort())
  const only = (way.groups ?? []).flatMap((each) => ['--group', each])
  const argv = [process.execPath, program, 'up', '-c', file, '--port', port, ...only]
  const exit = /"process":"(?<name>[^"]+)".*"reason":"exited with \w+ (?<status>\d+)/
  return runProject({ argv, line: /^(\S+)\s*\| (.*\S)/, exit }, file, cwd, way)
}

/** Returns the path of a program that scripts/project-runners installs. @throws Error when it is missing */
export function installedPeer(name: string): string {
  const path = join(PEERS, name)
  if (!existsSync(path)) throw new Error(`${path} is missing: run scripts/project-runners`)
  return path
}

async function runProject(
  { argv, line, exit, log }: Tool,
  file: string,
  cwd: string,
  { interruptAfterMs }: Way,
): Promise<ProjectRun> {
  const processes = basename(file).startsWith('Procfile') ? {} : readProcesses(file)
  const recorded = join(cwd, '.events')
  writeFileSync(recorded, '')
  const environment = {
    ...compileCache,
    PATH: process.env['PATH'],
    // Neither tool must find this user's files.
    HOME: cwd,
    USER: 'tester',
    PYTHONUNBUFFERED: '1',
    COMPOSE_SHELL: RECORDING_SHELL,
    PROJECT_EVENTS: recorded,
  }
  const startMs = Date.now()
  const { status, output, errors } = await runTool(argv, cwd, environment, interruptAfterMs)
  endProcessesWith(`PROJECT_EVENTS=${recorded}`)
  const lines: Record<string, readonly string[]> = {}
  for (const text of stripVTControlCharacters(output).split('\n')) {
    const [, name = '', said = ''] = line.exec(text) ?? []
    // A shell that survives its command for a moment reports its signal.
    if (name !== '' && !/\bTerminated\b/.test(said)) lines[name] = [...(lines[name] ?? []), said]
  }
  const reports = `${output}\n${errors}\n${log === undefined ? '' : readFileSync(join(cwd, log), 'utf8')}`
  const exits: Record<string, readonly number[]> = {}
  for (const text of stripVTControlCharacters(reports).split('\n')) {
    const { name = '', status: code } = exit.exec(text)?.groups ?? {}
    if (name !== '') exits[name] = [...(exits[name] ?? []), Number(code)]
  }
  const events = readEvents(recorded, processes)
  const isStopped = (name: string) => status !== 'running' && exits[name] === undefined
  return {
    status,
    lines,
    exits,
    contradictions: contradictions(processes, events, startMs, isStopped),
  }
}

function runTool(
  [program = '', ...argv]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  interruptAfterMs: number | undefined,
): Promise<{ readonly status: ProjectRun['status']; readonly output: string; readonly errors: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let isInterrupted = false
    const interrupt =
      interruptAfterMs === undefined
        ? undefined
        : setTimeout(() => {
            isInterrupted = true
            child.kill('SIGINT')
          }, interruptAfterMs)
    const kill = setTimeout(
      () => child.kill('SIGKILL'),
      interruptAfterMs === undefined ? LIMIT_MS : interruptAfterMs + GRACE_MS,
    )
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    child.on('error', reject)
    child.on('close', (status) => {
      clearTimeout(interrupt)
      clearTimeout(kill)
      resolve({ status: isInterrupted ? 'running' : status, output, errors })
    })
  })
}

/** Ends what a tool left behind: with `parent_only`, process-compose ends only the shell of a process. */
function endProcessesWith(variable: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable))
        process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has exited, or belongs to another user.
    }
  }
}
