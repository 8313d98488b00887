import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { freePort } from '../services/free-port.ts'
import { waitFor } from '../wait-for.ts'

/** A server that echoes each request as received in `X-Echo` and counts complete requests. */
export interface Recorder {
  readonly name: 'node' | 'go' | 'nginx' | 'python'
  readonly port: number
  readonly seen: () => Promise<number>
}

/** Upstreams that record what they receive. */
export interface Recorders {
  readonly all: readonly Recorder[]
  readonly stop: () => void
}

const FIXTURES = join(packageRoot, 'test/fixtures/recorders')

/** Starts one recorder of each kind; Node runs behind nginx, but nginx does the parsing. */
export async function startRecorders(): Promise<Recorders> {
  const dir = mkdtempSync(join(tmpdir(), 'recorders-'))
  const children: ChildProcess[] = []
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', stop)
  const start = (command: string, ...args: readonly string[]): ChildProcess => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    return child
  }
  const printing = async (command: string, ...args: readonly string[]): Promise<number> => {
    const { stdout } = start(command, ...args)
    if (stdout === null) throw new Error(`${command} has no output`)
    const [line] = (await once(createInterface({ input: stdout }), 'line')) as [string]
    return Number(line)
  }
  try {
    const goRecorder = join(dir, 'recorder-go')
    execFileSync('go', ['build', '-o', goRecorder, join(FIXTURES, 'recorder.go')], { cwd: dir })
    const [node, go, python, behindNginx] = await Promise.all([
      printing(process.execPath, join(FIXTURES, 'recorder.mjs')),
      printing(goRecorder),
      printing('python3', join(FIXTURES, 'recorder.py')),
      printing(process.execPath, join(FIXTURES, 'recorder.mjs')),
    ])
    const nginx = await freePort()
    writeFileSync(join(dir, 'nginx.conf'), nginxConfig(dir, nginx, behindNginx))
    start('nginx', '-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log'))
    await waitFor('nginx', () => answers(nginx))
    const at = (name: Recorder['name'], port: number, counts = port): Recorder => ({
      name,
      port,
      seen: async () => Number(await (await fetch(`http://127.0.0.1:${counts}/__seen`)).text()),
    })
    const all = [at('node', node), at('go', go), at('nginx', nginx, behindNginx), at('python', python)]
    return { all, stop }
  } catch (error) {
    stop()
    throw error
  }
}

function nginxConfig(dir: string, port: number, upstream: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${dir}/${name};`)
    .join(' ')
  return `master_process off; daemon off; pid ${dir}/pid; error_log ${dir}/error.log crit;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 2048; }
http {
  access_log off; ${temporary}
  underscores_in_headers on; ignore_invalid_headers off; keepalive_requests 100000000; proxy_buffer_size 64k; proxy_buffers 8 64k;
  large_client_header_buffers 8 64k; client_max_body_size 0; proxy_http_version 1.1;
  upstream recorder { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location / { proxy_pass http://recorder; proxy_set_header Host $http_host; proxy_set_header Connection ""; }
  }
}
`
}

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/__seen`).then(
    () => true,
    () => false,
  )
}
