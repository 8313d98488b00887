import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { classFile } from '../../support/analyzer/class-file.ts'
import { smallJdk } from '../../support/analyzer/jdk.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { zipOf } from '../../support/analyzer/zip.ts'

/** A jar that takes a while: the classes of java.base. */
function slowJar(folder: string): string {
  const classes = tempDir()
  execFileSync('jimage', [
    'extract',
    '--dir',
    classes,
    '--include',
    'regex:/java.base/(java|sun)/.*',
    join(smallJdk(), 'lib/modules'),
  ])
  const jar = join(folder, 'slow.jar')
  execFileSync('jar', ['-c', '-0', '-f', jar, '-C', join(classes, 'java.base'), '.'])
  return jar
}

/** A JVM with one class, in the place where Java 8 has them: the libraries are all that is read for long. */
function tinyJvm(): Readonly<Record<string, string>> {
  const home = tempDir()
  mkdirSync(join(home, 'lib'))
  writeFileSync(join(home, 'lib/rt.jar'), zipOf([{ name: 'java/Tiny.class', bytes: classFile('java/Tiny') }]))
  return { XDG_CACHE_HOME: tempDir(), ANALYZER_JVM_HOME: home }
}

function childPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(process.pid)
      } catch {
        return false
      }
    })
    .map(Number)
}

function hasOpen(pid: number, file: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === file
      } catch {
        return false
      }
    })
  } catch {
    return false
  }
}

/** Kills child processes that have a file open, until the signal aborts or a maximum is reached. */
async function endReadersOf(file: string, most: number, signal: AbortSignal): Promise<number> {
  const ended = new Set<number>()
  while (!signal.aborted && ended.size < most) {
    for (const pid of childPids()) {
      if (ended.has(pid) || !hasOpen(pid, file)) continue
      process.kill(pid, 'SIGSEGV')
      ended.add(pid)
    }
    await delay(2)
  }
  return ended.size
}

function projectWith(): { readonly root: string; readonly jar: string } {
  const root = projectOf('shop')
  mkdirSync(join(root, 'lib'))
  return { root, jar: slowJar(join(root, 'lib')) }
}

test('F14 a process that crashes while reading is replaced, and nothing is lost', async () => {
  const { root, jar } = projectWith()
  const done = new AbortController()
  const ended = endReadersOf(jar, 1, done.signal)
  const analyzer = await startAnalyzer(root, tinyJvm())
  onTestFinished(() => analyzer.stop())
  done.abort()
  expect(await ended).toBe(1)
  expect((await analyzer.get('/project/diagnostics')).diagnostics).toEqual([])
  expect(await analyzer.get('/classes/java.lang.String')).toMatchObject({ classInfo: { source: 'LIBRARY' } })
  expect((await analyzer.get('/stats')).projectClassCount).toBe(28)
})

test('F14 a jar that repeatedly crashes its readers is skipped and reported until it changes', async () => {
  const { root, jar } = projectWith()
  const done = new AbortController()
  const ended = endReadersOf(jar, Infinity, done.signal)
  const analyzer = await startAnalyzer(root, tinyJvm())
  onTestFinished(() => analyzer.stop())
  done.abort()
  expect(await ended).toBeGreaterThanOrEqual(2)
  expect((await analyzer.get('/project/diagnostics')).diagnostics).toEqual([
    { path: jar, message: expect.stringContaining('it is skipped until it changes') },
  ])
  expect((await analyzer.get('/stats')).projectClassCount).toBe(28)
  expect(await analyzer.get('/calls/shop.service.Calls')).toMatchObject({ totalCalls: 24 })

  writeFileSync(jar, zipOf([{ name: 'lib/Good.class', bytes: classFile('lib/Good') }]))
  expect((await refresh(analyzer)).status).toBe(200)
  expect((await analyzer.get('/project/diagnostics')).diagnostics).toEqual([])
  expect(await analyzer.get('/classes/lib.Good')).toMatchObject({ classInfo: { source: 'LIBRARY' } })
})

async function refresh({ url, token }: { readonly url: string; readonly token: string }) {
  const headers = { authorization: `Bearer ${token}` }
  return fetch(`${url}/api/v1/project/refresh`, { method: 'POST', headers })
}

test('F35 a jar that is replaced or truncated while it is read is the old one, the new one, or a diagnostic', async () => {
  const root = projectOf('shop')
  mkdirSync(join(root, 'lib'))
  const jar = join(root, 'lib/changing.jar')
  const make = (version: string): Buffer =>
    zipOf(
      Array.from({ length: 400 }, (_, at) => ({
        name: `lib/C${at}.class`,
        bytes: classFile(`lib/C${at}`, { superName: `lib/${version}` }),
      })),
    )
  const versions = ['Old', 'New'].map(make)
  writeFileSync(jar, versions[0] ?? '')
  const analyzer = await startAnalyzer(root, tinyJvm())
  onTestFinished(() => analyzer.stop())
  const done = new AbortController()
  const changing = (async () => {
    for (let times = 0; !done.signal.aborted; times++) {
      const bytes = versions[times % 2] ?? Buffer.alloc(0)
      if (times % 3 === 0) truncateSync(jar, bytes.length >> 1)
      else if (times % 3 === 1) writeFileSync(jar, bytes)
      else {
        writeFileSync(`${jar}.new`, bytes)
        renameSync(`${jar}.new`, jar)
      }
      await delay(7)
    }
  })()
  for (let times = 0; times < 12; times++) {
    const { status } = await refresh(analyzer)
    // The classes may change faster than they can be read.
    expect([200, 503]).toContain(status)
    const [low, high] = await Promise.all(
      ['lib.Old', 'lib.New'].map((fqn) =>
        analyzer.get('/classes', { extends: fqn, includeLibraries: true, size: 1_000 }),
      ),
    )
    expect([0, 400]).toContain(low.totalCount)
    expect([0, 400]).toContain(high.totalCount)
    expect(low.totalCount + high.totalCount).toBeLessThanOrEqual(400)
    expect((await analyzer.get('/stats')).projectClassCount).toBe(28)
  }
  done.abort()
  await changing
  writeFileSync(jar, versions[1] ?? '')
  expect((await refresh(analyzer)).status).toBe(200)
  expect((await analyzer.get('/classes', { extends: 'lib.New', includeLibraries: true })).totalCount).toBe(
    400,
  )
})

test('A1, A2 bombs, escaping names and duplicate entries are diagnostics or harmless', async () => {
  const root = projectOf('shop')
  mkdirSync(join(root, 'lib'))
  const good = classFile('lib/Good')
  const bomb = Buffer.concat([classFile('lib/Bomb'), Buffer.alloc(200 * 2 ** 20)])
  writeFileSync(
    join(root, 'lib/bad.jar'),
    zipOf([
      { name: 'lib/Bomb.class', bytes: bomb },
      { name: 'lib/Liar.class', bytes: bomb, claims: { bytes: 1_000 } },
      { name: '../../../lib/Slip.class', bytes: classFile('lib/Slip') },
      { name: 'lib/Twice.class', bytes: classFile('lib/Twice', { superName: 'lib/First' }) },
      { name: 'lib/Twice.class', bytes: classFile('lib/Twice', { superName: 'lib/Second' }) },
      { name: 'lib/Good.class', bytes: good },
    ]),
  )
  const analyzer = await startAnalyzer(root, tinyJvm())
  onTestFinished(() => analyzer.stop())
  for (const pid of childPids()) {
    const [, peak = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    expect(Number(peak) * 1024).toBeLessThan(512 * 2 ** 20)
  }
  expect((await analyzer.get('/classes/lib.Good')).classInfo.source).toBe('LIBRARY')
  expect((await analyzer.get('/classes/lib.Twice')).classInfo.superclass).toBe('lib.Second')
  expect((await analyzer.ask('/classes/lib.Bomb')).status).toBe(404)
  expect((await analyzer.ask('/classes/lib.Liar')).status).toBe(404)
  const { diagnostics } = await analyzer.get('/project/diagnostics')
  const paths = diagnostics.map(({ path }: any) => path.split('!/')[1])
  expect(paths).toEqual(expect.arrayContaining(['lib/Bomb.class', 'lib/Liar.class', 'lib/Twice.class']))
  expect(statSync(join(root, '..')).isDirectory() && readdirSync(join(root, '..'))).toEqual(['shop'])
})
