import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, type TestContext } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { projectOf, startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { recovery } from '../../support/recovery.ts'
import { SEED } from '../../support/seed.ts'
import { tempDir } from '../../support/temp-dir.ts'

const root = projectOf('shop')
const QUERIES = [
  '/classes?size=100',
  '/classes/shop.model.Order',
  '/calls/shop.service.Calls',
  '/xref/shop.model.Item',
  '/annotations/usages/shop.route.Route',
  '/methods?annotation=shop.route.Route',
]

const answersOf = (ask: (path: string) => Promise<{ status: number; body: any }>) =>
  Promise.all(QUERIES.map(async (path) => ({ path, ...(await ask(path)) })))

/** Every slice is stored, and no server runs. */
async function filledCache() {
  const cache = tempDir()
  const environment = { XDG_CACHE_HOME: cache }
  const first = await startAnalyzer(root, environment)
  const expected = await answersOf(first.ask)
  await first.stop()
  return { environment, expected, file: join(cache, 'analyzer/slices/data.mdb') }
}

type Damage = (file: string, bytes: number) => void

const zeroed: Damage = (file, bytes) => writeFileSync(file, Buffer.alloc(bytes))
const emptied: Damage = (file) => truncateSync(file, 0)
const halved: Damage = (file, bytes) => truncateSync(file, bytes >> 1)
const cutInAPage: Damage = (file, bytes) => truncateSync(file, bytes - 1_000)
const smashed: Damage = (file, bytes) => {
  const random = new Random(SEED)
  const handle = openSync(file, 'r+')
  for (let times = 0; times < 60; times++) {
    const junk = Buffer.from(Array.from({ length: 64 }, () => random.below(256)))
    writeSync(handle, junk, 0, 64, random.below(bytes - 64))
  }
  closeSync(handle)
}

test.each([
  ['zeroed', zeroed],
  ['emptied', emptied],
  ['cut in half', halved],
  ['cut in the middle of a page', cutInAPage],
  ['smashed in 60 places', smashed],
  ['smashed in 60 other places', smashed],
])('F7 a store that was %s is rebuilt, and no answer is wrong', { tags: ['long'] }, async (_how, damage) => {
  const { environment, expected, file } = await filledCache()
  damage(file, statSync(file).size)
  const analyzer = await startAnalyzer(root, environment)
  onTestFinished(() => analyzer.stop())
  let answers = await answersOf(analyzer.ask)
  expectRightOrNone(answers, expected)
  if (answers.some(({ status }) => status !== 200)) {
    await refresh(analyzer)
    answers = await answersOf(analyzer.ask)
  }
  expect(answers).toEqual(expected)
})

async function refresh({ url, token }: { readonly url: string; readonly token: string }) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/api/v1/project/refresh`, { method: 'POST', headers })
  return { status: answer.status, body: (await answer.json()) as any }
}

test('F7 a store damaged while a server runs returns correct answers or none, and a refresh repairs it', async (context) => {
  const { environment, expected, file } = await filledCache()
  const analyzer = await startAnalyzer(root, environment)
  onTestFinished(() => analyzer.stop())
  // Past the first pages, which lmdb itself reads: of these, smashing ends the process that has them in memory.
  const bytes = statSync(file).size
  const handle = openSync(file, 'r+')
  for (let at = bytes >> 2; at < bytes - 64; at += 4_096)
    writeSync(handle, Buffer.alloc(64, 0x5a), 0, 64, at + 1_000)
  closeSync(handle)
  await expectRepaired(context, analyzer, expected)
})

/**
 * Asks and refreshes until all is answered again. Nothing wrong is answered meanwhile; one refresh may not be enough, since
 * a page that nobody has read yet is not known to be damaged.
 */
async function expectRepaired(
  context: TestContext,
  analyzer: Awaited<ReturnType<typeof startAnalyzer>>,
  expected: Awaited<ReturnType<typeof answersOf>>,
): Promise<void> {
  let answers = await answersOf(analyzer.ask)
  await recovery(context, async () => {
    for (let refreshes = 0; refreshes < QUERIES.length; refreshes++) {
      expectRightOrNone(answers, expected)
      expect((await refresh(analyzer)).status).toBe(200)
      answers = await answersOf(analyzer.ask)
      if (answers.every(({ status }) => status === 200)) break
    }
  })
  expect(answers).toEqual(expected)
}

function expectRightOrNone(
  answers: Awaited<ReturnType<typeof answersOf>>,
  expected: Awaited<ReturnType<typeof answersOf>>,
): void {
  for (const answer of answers) {
    if (answer.status === 200) expect(expected).toContainEqual(answer)
    else expect(answer.body).toMatchObject({ code: 503, type: 'ScanNotReady' })
  }
}

test.for([
  ['emptied', emptied],
  ['cut in half', halved],
  ['taken away', (file: string) => rmSync(file)],
] as const)(
  'F7 a store that is %s while a server runs gives no wrong answer, and a refresh makes it again',
  { tags: ['long'] },
  async ([, damage], context) => {
    const { environment, expected, file } = await filledCache()
    const analyzer = await startAnalyzer(root, environment)
    onTestFinished(() => analyzer.stop())
    damage(file, statSync(file).size)
    await expectRepaired(context, analyzer, expected)
  },
)

/** Mounts a small file system that can be filled. */
function smallDisk(megabytes: number): string {
  const folder = tempDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
  onTestFinished(() => void execFileSync('umount', ['-l', folder]))
  return folder
}

test('F6 on a full disk the previous index answers, and a refresh works once space is free', async (context) => {
  const cache = smallDisk(400)
  const project = projectOf('shop')
  const analyzer = await startAnalyzer(project, { XDG_CACHE_HOME: cache })
  onTestFinished(() => analyzer.stop())
  const before = await analyzer.get('/classes', { size: 100 })
  writeFileSync(join(cache, 'ballast'), Buffer.alloc(300 * 2 ** 20))
  rmSync(join(project, 'target/classes/shop/model/Order$Line.class'))
  for (let times = 0; times < 2; times++) {
    expect(await refresh(analyzer)).toMatchObject({
      status: 503,
      body: { type: 'ScanFailed', message: expect.stringContaining('less than 256 MiB free') },
    })
    expect(await analyzer.get('/classes', { size: 100 })).toEqual(before)
    expect((await analyzer.get('/calls/shop.service.Calls')).totalCalls).toBe(24)
  }
  rmSync(join(cache, 'ballast'))
  expect(await recovery(context, () => refresh(analyzer))).toMatchObject({
    status: 200,
    body: { classCount: before.totalCount - 1 },
  })
  expect((await analyzer.get('/classes')).totalCount).toBe(before.totalCount - 1)
})

test('F6 a disk of 16 MB is reported as too small', async () => {
  const cache = smallDisk(16)
  await expect(startAnalyzer(projectOf('shop'), { XDG_CACHE_HOME: cache })).rejects.toMatchObject({
    code: 'SCAN_FAILED',
    message: expect.stringContaining('less than 256 MiB free; free some space or set ANALYZER_CACHE_DIR'),
  })
})
