import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import MiniSearch from 'minisearch'
import { formatIndex, type IndexedPage } from '../../src/content/search/search-index.ts'
import { FsStore } from '../../src/content/store/fs-store.ts'
import { startOurs } from '../content-servers.ts'
import type { Bench } from '../harness.ts'
import { memoryOf } from '../process-memory.ts'

const PAGES = 10_000
const WORDS = 120
const REPOS = 4
const ROUNDS = 100
/** A word on every page, a rare word, a common prefix, and a misspelled query. */
const QUERIES = ['deploy', 'rare77', 'word1', 'deploi rare7']

const bench: Bench = {
  note:
    `A search over ${REPOS} repositories of ${PAGES / REPOS} pages of ${WORDS} words each, 20 hits, ${ROUNDS} of each query, alternating: ours as an HTTP request ` +
    'with a session, including excerpts and the total number of hits; MiniSearch (which the server used before) in the same process, only hits.',
  prepare() {
    const dir = mkdtempSync(join(tmpdir(), 'content-bench-'))
    return { cases: [], more: () => compare(dir), cleanUp: () => rmSync(dir, { recursive: true }) }
  },
}
export default bench

async function compare(dir: string): Promise<string> {
  const store = new FsStore(join(dir, 'store'))
  const pages = Array.from({ length: PAGES }, (_, at) => pageOf(at))
  for (let repo = 0; repo < REPOS; repo++) {
    const own = pages.slice((repo * PAGES) / REPOS, ((repo + 1) * PAGES) / REPOS)
    await store.write(`repos/r${repo}/_search.json`, Buffer.from(await textOf(formatIndex(own))))
  }
  const server = await startOurs(dir, { root: join(dir, 'store') })
  const peer = new MiniSearch({ fields: ['title', 'text'], idField: 'path', storeFields: ['title'] })
  peer.addAll(pages)
  const options = { boost: { title: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' } as const
  const headers = { cookie: server.cookie }
  const ask = async (query: string): Promise<void> => {
    const answer = await fetch(`${server.url}/_api/search?q=${encodeURIComponent(query)}`, { headers })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    await answer.json()
  }
  try {
    const firstMs = await timed(() => ask(QUERIES[0] ?? ''))
    const rows: string[] = []
    for (const query of QUERIES) {
      const [ours, theirs]: [number[], number[]] = [[], []]
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await timed(() => ask(query)))
        theirs.push(await timed(() => void peer.search(query, options).slice(0, 20)))
      }
      rows.push(`| ${query} | ${quantile(ours, 0.5)} | ${quantile(ours, 0.95)} | ${quantile(theirs, 0.5)} |`)
    }
    return [
      '| query | ours, p50 | ours, p95 | MiniSearch, p50 |',
      '| --- | ---: | ---: | ---: |',
      ...rows,
      '',
      `First search, which reads the indexes: ${firstMs.toFixed(0)} ms. Memory of the server after it: ${(memoryOf([server.pid]).rss / 1e6).toFixed(0)} MB.`,
    ].join('\n')
  } finally {
    await server.stop()
  }
}

function pageOf(at: number): IndexedPage {
  const words = Array.from({ length: WORDS }, (_, i) => `word${(at * 31 + i * i * 17) % 20_000}`)
  const text = ['deploy', `rare${at % 1_000}`, ...words].join(' ')
  return { path: `${at}.html`, title: `Page ${at}`, text, sections: [] }
}

async function timed(work: () => unknown): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}

function quantile(times: readonly number[], share: number): string {
  return `${(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN).toFixed(1)} ms`
}
