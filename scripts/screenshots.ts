// Takes the documentation's screenshots from real servers with real containers: npm run screenshots [PROGRAM…]
// Needs a container engine, Chromium, MkDocs and a JDK (scripts/test-tools). Writes docs/images/. The recording of
// `top` needs none of them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ignore } from '../src/lib/errors/ignore.ts'
import { serve } from '../bench/served.ts'
import {
  create as createContent,
  hashPassword,
  loadContentConfig,
  openStore,
  publish,
} from '../src/content/index.ts'
import { createLogger } from '../src/lib/log/logger.ts'
import { run } from '../src/lib/process/run.ts'
import {
  create as createSupervisor,
  loadSupervisorConfig,
  type RunningSupervisor,
} from '../src/supervisor/index.ts'
import { corpusJar } from '../test/support/analyzer/corpora.ts'
import { type BrowserPage, openBrowser } from '../test/support/browser/browser.ts'
import { frameOf, recordingOf } from '../test/support/terminal/recording.ts'
import { startTerminalProgram } from '../test/support/terminal/program.ts'
import { waitFor } from '../test/support/wait-for.ts'

/** Time for the graphs of resource usage. */
const USAGE_MS = 60_000
/** Time for a page to load its data. */
const LOAD_MS = 3_000
const WIDTH = 1_200

const root = resolve(import.meta.dirname, '..')
const images = join(root, 'docs/images')
const logger = createLogger({ level: 'fatal', format: 'json' })

/** Saves what a page shows. @param height of the window in pixels */
async function save(page: BrowserPage, file: string, height: number): Promise<void> {
  await page.resize(WIDTH, height)
  await setTimeout(LOAD_MS)
  writeFileSync(join(images, file), await page.screenshot())
  console.log(`docs/images/${file}`)
}

async function withPage(url: string, work: (page: BrowserPage) => Promise<void>): Promise<void> {
  const { page, close } = await openBrowser(url)
  try {
    await page.resize(WIDTH, 760)
    await work(page)
  } finally {
    await close()
  }
}

/** Workspaces, with files of some size and a program that produces resource usage. */
const WORKSPACES = [
  { name: 'agent-42', files: '25M', program: 'while :; do perl -e "for (1..2e6) {}"; sleep 1; done' },
  { name: 'docs', files: '60M', program: undefined },
  {
    name: 'feature-login',
    files: '140M',
    program: 'tmux new-session -d -s server "perl -e \'\\$x = q(a) x 2e8; sleep 600\'"',
  },
  { name: 'fix-checkout', files: '90M', program: undefined },
  { name: 'upgrade-node', files: '40M', program: 'while :; do perl -e "for (1..4e5) {}"; sleep 2; done' },
] as const

async function workspace(): Promise<void> {
  const server = await serve(undefined, { WORKSPACE_NAME: 'workspaces', WORKSPACE_DOCKER__NETWORK: 'bridge' })
  try {
    for (const { name, files, program } of WORKSPACES) {
      await server.post('/api/workspaces', { name, cpus: 1, memory_mb: 1024 })
      await run('docker', [
        'exec',
        `ws-${name}`,
        'sh',
        '-c',
        `head -c ${files} /dev/urandom > /var/tmp/build`,
      ])
      if (program !== undefined) await run('docker', ['exec', '-d', `ws-${name}`, 'sh', '-c', program])
    }
    await server.post('/api/workspaces/docs/stop')
    await withPage(server.url, async (page) => {
      await setTimeout(USAGE_MS)
      for (const { file, hash, height } of [
        { file: 'workspaces.png', hash: '#/', height: 400 },
        { file: 'workspace.png', hash: '#/workspaces/feature-login', height: 760 },
        { file: 'disk.png', hash: '#/disk', height: 760 },
      ]) {
        await page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`)
        await save(page, file, height)
      }
    })
  } finally {
    for (const { name } of WORKSPACES)
      await server.delete(`/api/workspaces/${name}`).catch(ignore('it may not have been created'))
    await server.stop()
  }
}

const SHOP = `console.log('listening on', process.env.PORT)
require('http').createServer((request, response) => {
  console.log(request.method, request.url)
  response.writeHead(request.url === '/checkout' ? 502 : 200).end()
}).listen(process.env.PORT)`

/** Runs a supervisor of a shop that has answered a few requests. */
async function withShop(
  work: (running: RunningSupervisor, environment: Record<string, string>) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'shop-'))
  const file = join(home, 'supervisor.yaml')
  writeFileSync(join(home, 'shop.js'), SHOP)
  const settings = {
    api: { port: 0 },
    state_dir: 'state',
    proxy: { enabled: true, port: 0 },
    processes: {
      console: { cmd: 'exec node -i', tty: true, stop_signal: 'SIGHUP' },
      mailer: { cmd: 'echo "cannot connect to smtp.internal:25" >&2; exit 1', restart: 'never' },
      shop: { cmd: 'exec node shop.js', proxy: { port: 4510 } },
      worker: {
        cmd: 'i=0; while sleep 2; do i=$((i+1)); echo "order $i shipped"; done',
        depends_on: { shop: 'started' },
      },
    },
  }
  writeFileSync(file, JSON.stringify(settings))
  const { config } = loadSupervisorConfig({ HOME: home }, { file })
  const environment = { PATH: process.env['PATH'] ?? '', HOME: home }
  const running = await createSupervisor(config, { logger, environment, platform: process.platform }).start()
  try {
    await setTimeout(LOAD_MS)
    for (const path of ['/', '/cart', '/checkout', '/orders/7'])
      await run('curl', ['-s', '-H', 'Host: shop.localhost', `http://127.0.0.1:${running.proxyPort}${path}`])
    await work(running, environment)
  } finally {
    await running.stop()
    rmSync(home, { recursive: true })
  }
}

async function supervisor(): Promise<void> {
  await withShop(async (running) => {
    await withPage(`http://127.0.0.1:${running.port}`, async (page) => {
      await setTimeout(LOAD_MS)
      await page.evaluate('document.querySelector("[data-process=mailer] .link").click()')
      await save(page, 'supervisor.png', 1_120)
      await page.evaluate('document.getElementById("details-close").click()')
      await page.evaluate(
        'document.querySelector("[data-process=console] td:last-child button:last-child").click()',
      )
      await setTimeout(LOAD_MS)
      await page.type('[3, 1, 2].toSorted()')
      await page.press('Enter')
      await save(page, 'supervisor-terminal.png', 520)
    })
  })
}

/** Keys of the recording, with what the screen shows after them. */
const TOP_STEPS = [
  { keys: 'jj', shown: 'GET /checkout' },
  { keys: 'k2', shown: 'What to do' },
  { keys: '1a', shown: 'order 8' },
  { keys: '/get\r', shown: /hit 4 of 4/ },
  { keys: 'j3', shown: '502' },
  { keys: '\rj\r', shown: /GET \/checkout: status 502[^]*\|/ },
  { keys: '?', shown: 'Keys of supervisor top' },
] as const
const TOP_FRAME_SECONDS = 3

async function top(): Promise<void> {
  await withShop(async ({ port }, environment) => {
    const program = startTerminalProgram(
      [process.execPath, join(root, 'src/bin/supervisor.ts'), 'top', '--url', `http://127.0.0.1:${port}`],
      { columns: 120, rows: 40 },
      { directory: root, environment: { ...environment, TERM: 'xterm' } },
    )
    try {
      await program.untilShown(/shop +running/)
      const frames: string[] = []
      for (const { keys, shown } of TOP_STEPS) {
        program.type(keys)
        await program.untilShown(shown)
        frames.push(frameOf(program.terminal))
      }
      writeFileSync(join(images, 'top.svg'), recordingOf(frames, program.terminal, TOP_FRAME_SECONDS))
      console.log('docs/images/top.svg')
      program.type('q')
      await program.ended
    } finally {
      program.close()
    }
  })
}

async function content(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'screenshots-'))
  const flags = {
    http: { port: 0 },
    store: { root: join(home, 'store') },
    session: { file: join(home, 'sessions.db'), secure: false },
    password_hash: await hashPassword('password'),
  }
  const { config } = loadContentConfig({ HOME: home }, { flags, cwd: home })
  const folder = join(home, 'site')
  await run(join(root, 'scripts/site'), [folder])
  const store = await openStore(config.store)
  const description = 'Workspaces, supervisor, content server and analyzer'
  for (const version of ['0.1.0', '0.2.0'])
    await publish(
      { folder, repo: 'suite', description, version, deletes: false },
      { store, nowMs: Date.now() },
    )
  const running = await createContent(config, { logger }).start()
  try {
    await withPage(`http://127.0.0.1:${running.port}/`, async (page) => {
      await page.click('#password')
      await page.type('password')
      await page.press('Enter')
      await waitFor('the home page', () =>
        page
          .evaluate<boolean>('document.querySelector("#query") !== null')
          .catch(ignore('the page is still loading', false)),
      )
      await page.click('#query')
      await page.type('suspend a machine')
      await save(page, 'content-server.png', 760)
    })
  } finally {
    await running.stop()
    rmSync(home, { recursive: true })
  }
}

async function analyzer(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'screenshots-'))
  try {
    const project = join(home, 'guava')
    mkdirSync(join(project, 'target/classes'), { recursive: true })
    writeFileSync(join(project, 'pom.xml'), '<project/>')
    await run('jar', ['xf', corpusJar('guava-')], { cwd: join(project, 'target/classes') })
    const environment = { ...process.env, HOME: home, ANALYZER_SERVER__MODE: 'jar' }
    const command = (...argv: readonly string[]) =>
      run(process.execPath, [join(root, 'src/bin/analyzer.ts'), ...argv, '-p', project], { environment })
    await command('start')
    const file = join(home, 'graph.html')
    await command('deps', '--format', 'html', '--output', file)
    await command('stop')
    await withPage(pathToFileURL(file).href, async (page) => {
      await page.press('/')
      await page.type('ratelimiter')
      await page.press('ArrowDown', 'Enter')
      await save(page, 'analyzer-graph.png', 760)
    })
  } finally {
    rmSync(home, { recursive: true })
  }
}

const programs = { workspace, supervisor, top, content, analyzer }
mkdirSync(images, { recursive: true })
const wanted = process.argv.slice(2)
for (const [name, take] of Object.entries(programs))
  if (wanted.length === 0 || wanted.includes(name)) await take()
