import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { packageRoot } from '../src/lib/process/package.ts'

const PEERS = join(packageRoot, '.node/peers')

/** Shell commands to run, by name. */
export type Programs = Readonly<Record<string, string>>

/** A supervisor, ours or another. */
export interface Contender {
  readonly name: string
  /** Starts it with these programs, which it restarts when they exit and whose output it writes to files. */
  readonly start: (programs: Programs) => Started
}

/** Supervisor that was started for a benchmark. */
export interface Started {
  /** Returns the supervisor's process id; 0 before it is running. */
  readonly pid: () => number
  /** Requests its list of processes once. */
  readonly list: () => Promise<unknown>
  /** Stops it with all its programs. */
  readonly stop: () => void
}

/** Port of our supervisor's API. */
export const API_PORT = 5999

/** Returns our supervisor and the installed ones of scripts/bench-peers. */
export function contenders(): readonly Contender[] {
  return [
    ours,
    ...(existsSync(join(PEERS, 'venv/bin/supervisord')) ? [supervisord] : []),
    ...(existsSync(join(PEERS, 'pm2/node_modules/.bin/pm2')) ? [pm2] : []),
    ...(existsSync(join(PEERS, 'process-compose')) ? [processCompose] : []),
  ]
}

function workDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'supervisor-bench-'))
  mkdirSync(join(dir, 'logs'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const running = (child: ChildProcess, list: Started['list']): Started => ({
  pid: () => child.pid ?? 0,
  list,
  stop: () => void child.kill('SIGTERM'),
})

const get = async (url: string): Promise<unknown> => (await fetch(url)).json()

const ours: Contender = {
  name: 'ours',
  start(programs) {
    const dir = workDir()
    const processes = Object.fromEntries(
      Object.entries(programs).map(([name, cmd]) => [name, { cmd, restart: 'always' }]),
    )
    const log = { dir: 'logs', level: 'error', max_file_bytes: '10GiB' }
    writeFileSync(join(dir, 'supervisor.yaml'), stringify({ api: { port: API_PORT }, log, processes }))
    const program = join(packageRoot, 'dist/src/bin/supervisor.js')
    const child = spawn(process.execPath, [program, 'up', '--quiet'], {
      cwd: dir,
      env: { ...process.env, HOME: dir },
      stdio: 'ignore',
    })
    return running(child, () => get(`http://127.0.0.1:${API_PORT}/api/v1/processes`))
  },
}

const supervisord: Contender = {
  name: 'supervisord',
  start(programs) {
    const dir = workDir()
    const sections = Object.entries(programs).map(
      ([name, cmd]) =>
        `[program:${name}]\ncommand=/bin/sh -c '${cmd}'\nstartsecs=0\nautorestart=true\nstopasgroup=true\nkillasgroup=true\nredirect_stderr=true\nstdout_logfile=${dir}/logs/${name}.log\nstdout_logfile_maxbytes=0\n`,
    )
    const head = `[supervisord]\nnodaemon=true\nlogfile=${dir}/own.log\npidfile=${dir}/pid\nminfds=4096\n[unix_http_server]\nfile=${dir}/sock\n[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n[supervisorctl]\nserverurl=unix://${dir}/sock\n`
    const conf = join(dir, 'supervisord.conf')
    writeFileSync(conf, head + sections.join(''))
    const child = spawn(join(PEERS, 'venv/bin/supervisord'), ['-c', conf], { cwd: dir, stdio: 'ignore' })
    return running(child, async () =>
      execFileSync(join(PEERS, 'venv/bin/supervisorctl'), ['-c', conf, 'pid']),
    )
  },
}

const pm2: Contender = {
  name: 'pm2',
  start(programs) {
    const dir = workDir()
    const bin = join(PEERS, 'pm2/node_modules/.bin/pm2')
    const env = { ...process.env, PM2_HOME: dir }
    const apps = Object.entries(programs).map(([name, cmd]) => ({
      name,
      script: '/bin/sh',
      args: ['-c', cmd],
      interpreter: 'none',
      output: `${dir}/logs/${name}.log`,
      error: `${dir}/logs/${name}.err`,
    }))
    writeFileSync(join(dir, 'eco.config.js'), `module.exports = ${JSON.stringify({ apps })}`)
    spawn(bin, ['start', join(dir, 'eco.config.js')], { env, stdio: 'ignore' })
    return {
      pid: () => Number(execFileSync('pgrep', ['-n', '-f', `God Daemon \\(${dir}\\)`], { encoding: 'utf8' })),
      list: async () => execFileSync(bin, ['jlist'], { env, maxBuffer: 2 ** 26 }),
      stop: () => void spawn(bin, ['kill'], { env, stdio: 'ignore' }),
    }
  },
}

const processCompose: Contender = {
  name: 'process-compose',
  start(programs) {
    const dir = workDir()
    const processes = Object.fromEntries(
      Object.entries(programs).map(([name, command]) => [
        name,
        {
          command,
          availability: { restart: 'always', backoff_seconds: 1 },
          log_location: `${dir}/logs/${name}.log`,
        },
      ]),
    )
    writeFileSync(join(dir, 'process-compose.yaml'), stringify({ version: '0.5', processes }))
    const argv = [
      'up',
      '-t=false',
      '-p',
      String(API_PORT),
      '-f',
      join(dir, 'process-compose.yaml'),
      '-L',
      `${dir}/own.log`,
    ]
    const child = spawn(join(PEERS, 'process-compose'), argv, {
      cwd: dir,
      env: { ...process.env, HOME: dir },
      stdio: 'ignore',
    })
    return running(child, () => get(`http://127.0.0.1:${API_PORT}/processes`))
  },
}
