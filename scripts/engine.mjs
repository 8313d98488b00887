// The part of the HTTP API of container engines (Docker or Podman) that set-up needs. Does not use the `docker`
// command, because possibly only the socket exists, nor `curl`, which a minimal Debian lacks.
//
//   node scripts/engine.mjs find [IMAGE]             prints the engine's address; exits 1 without one, 3 without IMAGE
//   node scripts/engine.mjs pull IMAGE               exits 1 if no registry responds within 20 s
//   node scripts/engine.mjs build IMAGE < context.tar
//   node scripts/engine.mjs import IMAGE [CHANGE…] < root.tar
//
// Runs on any installed Node.js, before the right one is installed: hence plain JavaScript.
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'

// A starting daemon accepts connections long before it responds.
const pingTimeoutMs = 3_000
const firstByteTimeoutMs = 20_000
// Between two lines of a running pull, build or import.
const silenceTimeoutMs = 300_000

/** Returns only DOCKER_HOST if it is set, like `docker`; else the sockets where engines listen by default. */
function candidates() {
  if (process.env['DOCKER_HOST']) return [process.env['DOCKER_HOST']]
  const runtime = process.env['XDG_RUNTIME_DIR']
  const sockets = process.env['SETUP_ENGINE_SOCKETS']?.split(':') ?? [
    '/var/run/docker.sock',
    `${homedir()}/.docker/run/docker.sock`,
    `${homedir()}/.colima/default/docker.sock`,
    ...(runtime ? [`${runtime}/docker.sock`, `${runtime}/podman/podman.sock`] : []),
    '/run/podman/podman.sock',
  ]
  return sockets.filter((path) => path !== '' && existsSync(path)).map((path) => `unix://${path}`)
}

/** @returns options of `http.request` for the engine, or undefined for an unsupported scheme (ssh, npipe) */
function target(address) {
  if (address.startsWith('unix://')) return { socketPath: address.slice('unix://'.length) }
  const match = /^(?:tcp|http):\/\/([^/:]+)(?::(\d+))?/.exec(address)
  return match ? { host: match[1], port: Number(match[2] ?? 2375) } : undefined
}

/**
 * Sends a request and passes each line of the response to `onLine`. Rejects on silence, on status ≥ 300 and on an
 * error line.
 */
function call(address, method, path, { body, timeoutMs = pingTimeoutMs, onLine = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const to = target(address)
    if (!to) return reject(new Error(`${address}: only unix:// and tcp:// addresses are supported`))
    const headers = body ? { 'content-type': 'application/x-tar' } : {}
    const sent = request({ ...to, method, path, headers }, (answer) => {
      let rest = ''
      let failure
      const take = (line) => {
        if (line.trim() === '') return
        sent.setTimeout(silenceTimeoutMs)
        onLine(line)
        // A stream that started with status 200 reports failure in a separate line.
        const error = line.startsWith('{') ? parse(line) : undefined
        if (error !== undefined) failure = error
      }
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        lines.forEach(take)
      })
      answer.on('error', reject)
      answer.on('end', () => {
        take(rest)
        const status = answer.statusCode ?? 500
        if (status >= 300) reject(new Error(failure ?? `the engine responded with status ${status}`))
        else if (failure === undefined) resolve(undefined)
        else reject(new Error(failure))
      })
    })
    sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no response within ${timeoutMs / 1000} s`)))
    sent.on('error', reject)
    if (body) body.pipe(sent)
    else sent.end()
  })
}

function parse(line) {
  try {
    const said = JSON.parse(line)
    return said.error ?? (said.stream || said.status ? undefined : said.message)
  } catch {
    return undefined
  }
}

async function find() {
  for (const address of candidates()) {
    try {
      await call(address, 'GET', '/_ping')
      return address
    } catch {
      // The next one may respond.
    }
  }
  return undefined
}

function show(line) {
  const said = line.startsWith('{') ? JSON.parse(line) : {}
  if (said.stream) process.stderr.write(said.stream)
}

const [command, image = '', ...changes] = process.argv.slice(2)
const address = await find()
if (address === undefined) process.exit(1)
const [repo, tag = 'latest'] = image.split(':')
const longRun = { timeoutMs: silenceTimeoutMs, onLine: show }
try {
  if (command === 'find') {
    process.stdout.write(`${address}\n`)
    if (image) await call(address, 'GET', `/images/${image}/json`).catch(() => (process.exitCode = 3))
  } else if (command === 'pull') {
    const query = new URLSearchParams({ fromImage: repo ?? '', tag })
    await call(address, 'POST', `/images/create?${query}`, { timeoutMs: firstByteTimeoutMs })
  } else if (command === 'build') {
    const query = new URLSearchParams({ t: image, rm: '1', forcerm: '1' })
    await call(address, 'POST', `/build?${query}`, { ...longRun, body: process.stdin })
  } else if (command === 'import') {
    const query = new URLSearchParams([
      ['fromSrc', '-'],
      ['repo', repo ?? ''],
      ['tag', tag],
    ])
    for (const change of changes) query.append('changes', change)
    await call(address, 'POST', `/images/create?${query}`, { ...longRun, body: process.stdin })
  } else {
    throw new Error(`expected find, pull, build or import, got ${command ?? 'nothing'}`)
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
