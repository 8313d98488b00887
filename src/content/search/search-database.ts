import { createReadStream, rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { allNear } from '../../lib/config/nearest.ts'
import { cutExcerpt, type Excerpt, formatChanges } from './excerpt.ts'
import { BARRIER, foldText, foldWord, WORD_BREAK } from './fold.ts'
import { fts5Query, matchesOf, type Phrase, toPhrase } from './phrase.ts'
import { type IndexedPage, parseIndexLine } from './search-index.ts'

/** Version of the tables below. A file of another version is deleted and rebuilt from the store. */
const FORMAT = 3
const BUSY_MS = 60_000
/** Bits of a row id below its source's id. */
const PAGE_BITS = 24
const TABLES = `
  CREATE TABLE source (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, etag TEXT NOT NULL, problem TEXT);
  CREATE VIRTUAL TABLE page USING fts5(
    folded_title, text, title UNINDEXED, changes UNINDEXED, path UNINDEXED, sections UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co' tokenchars '${BARRIER}'", prefix = '2 3'
  );
  CREATE VIRTUAL TABLE word USING fts5vocab(page, 'row');
  INSERT INTO page (page, rank) VALUES ('rank', 'bm25(5.0, 1.0)');
  PRAGMA user_version = ${FORMAT}`
const WITHIN = `page MATCH $match AND (rowid >> ${PAGE_BITS}) IN (SELECT value FROM json_each($sources))`
const FIND = `
  SELECT rowid >> ${PAGE_BITS} AS source, title, text, changes, path, sections
  FROM page WHERE ${WITHIN} ORDER BY rank LIMIT $limit OFFSET $offset`

const MAX_WORDS = 16
/** Length from which a word before the last one of a query also matches as a prefix. */
const MIN_PREFIX = 3
/** Divides words of a query that are written together. */
const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'word' })
/** Shorter words have too many similar words. */
const MIN_CORRECTED = 5
/** Maximum number of similar words for which a search checks whether its sources have them. */
const MAX_CHECKED = 1_000
/** Maximum length of a line that `publish` writes. */
const MAX_LINE = 4 * 2 ** 20

/** Why an index cannot be searched. */
export type IndexProblem = 'old_format' | 'unreadable'

/** An index in the database, and the object that it was read from. */
export interface IndexedSource {
  readonly key: string
  readonly etag: string
  readonly problem: IndexProblem | null
}

/** A matching page in the database. */
export interface FoundPage {
  /** Key of the page's index. */
  readonly key: string
  readonly path: string
  readonly title: string
  readonly excerpt: Excerpt
  /** Id of the section that contains the excerpt. */
  readonly anchor: string | undefined
}

/** Result of a search in the database. */
export interface FoundPages {
  readonly pages: readonly FoundPage[]
  /** Total number of matching pages. */
  readonly total: number
  /** Keys of indexes that the database does not contain (any more). */
  readonly missing: readonly string[]
}

/** A page of an index. */
export interface ListedPage {
  /** Path relative to the index's folder. */
  readonly path: string
  readonly title: string
}

/** Pages of an index, with their total number. */
export interface ListedPages {
  readonly pages: readonly ListedPage[]
  readonly total: number
}

/**
 * Pages of all indexes in one SQLite file, which the processes of a host share. It is a cache: a damaged file is
 * deleted. Memory is limited to SQLite's page cache, regardless of the file's size.
 */
export class SearchDatabase {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Opens or creates the file.
   *
   * @param maxBytes memory for the page cache
   * @throws an error that `isDamage` recognizes when it is damaged
   */
  static open(file: string, maxBytes: number): SearchDatabase {
    const database = new DatabaseSync(file, { timeout: BUSY_MS })
    try {
      const kibibytes = Math.max(64, Math.floor(maxBytes / 1024))
      database.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${kibibytes}`,
      )
      database.exec(`PRAGMA journal_size_limit = 0; PRAGMA trusted_schema = OFF`)
      inTransaction(database, () => {
        const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
        if (found === FORMAT) return
        if (found !== 0)
          throw Object.assign(new Error('created by another version'), { errcode: NOT_A_DATABASE })
        database.exec(TABLES)
      })
      return new SearchDatabase(database)
    } catch (error) {
      database.close()
      throw error
    }
  }

  sources(): readonly IndexedSource[] {
    return this.#prepare('SELECT key, etag, problem FROM source').all() as unknown as readonly IndexedSource[]
  }

  /** Replaces the pages of an index by those in a file, atomically. */
  async replace(key: string, etag: string, file: string): Promise<IndexedSource> {
    const known = this.#prepare('SELECT id, key, etag, problem FROM source WHERE key = ?')
    // Another process may have replaced it meanwhile.
    const before = known.get(key) as unknown as (IndexedSource & { readonly id: number }) | undefined
    if (before?.etag === etag) return { key, etag, problem: before.problem }
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      this.#remove(key)
      const { lastInsertRowid } = this.#prepare('INSERT INTO source (key, etag) VALUES (?, ?)').run(key, etag)
      const problem = await this.#addPages(Number(lastInsertRowid), file)
      if (problem !== null) {
        this.#remove(key)
        this.#prepare('INSERT INTO source (key, etag, problem) VALUES (?, ?, ?)').run(key, etag, problem)
      }
      this.#database.exec('COMMIT')
      return { key, etag, problem }
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  /** Removes indexes that are no longer in the store. */
  forget(keys: readonly string[]): void {
    inTransaction(this.#database, () => {
      for (const key of keys) this.#remove(key)
    })
  }

  /**
   * Finds the pages of the given indexes that contain all words as prefixes; best first. Short words before the last one match
   * whole words only: "a" is not the beginning of a word that is still being typed.
   */
  find(keys: readonly string[], query: string, limit: number, offset: number): FoundPages {
    const rows = this.#prepare(
      'SELECT id, key FROM source WHERE problem IS NULL AND key IN (SELECT value FROM json_each(?))',
    ).all(JSON.stringify(keys)) as { id: number; key: string }[]
    const sources = new Map(rows.map(({ id, key }) => [id, key]))
    const there = new Set(sources.values())
    const missing = keys.filter((key) => !there.has(key))
    const $sources = JSON.stringify([...sources.keys()])
    const words = clean(query).split(/\s+/).filter(isWord).slice(0, MAX_WORDS)
    if (words.length === 0) return { pages: [], total: 0, missing }
    let phrases = words.map((word, at) =>
      toPhrase(word, word.length >= MIN_PREFIX || at === words.length - 1),
    )
    let total = this.#count(phrases, $sources)
    if (total === 0) {
      phrases = words.flatMap((word) => this.#correct(word, $sources))
      total = this.#count(phrases, $sources)
    }
    if (total === 0) return { pages: [], total, missing }
    const found = this.#prepare(FIND).all({
      $match: fts5Query(phrases),
      $sources,
      $limit: limit,
      $offset: offset,
    }) as unknown as PageRow[]
    return { pages: found.map((row) => toPage(row, sources.get(row.source) ?? '', phrases)), total, missing }
  }

  /** Lists the pages of an index in the order of their publication; undefined if the database does not contain it. */
  pages(key: string, limit: number, offset: number): ListedPages | undefined {
    const id = this.#prepare('SELECT id FROM source WHERE problem IS NULL AND key = ?').get(key)?.['id']
    if (typeof id !== 'number') return undefined
    const range = [id * 2 ** PAGE_BITS, (id + 1) * 2 ** PAGE_BITS]
    const within = 'FROM page WHERE rowid >= ? AND rowid < ?'
    const total = Number(this.#prepare(`SELECT count(*) AS total ${within}`).get(...range)?.['total'])
    const pages = this.#prepare(`SELECT path, title ${within} ORDER BY rowid LIMIT ? OFFSET ?`)
    return { pages: pages.all(...range, limit, offset) as unknown as readonly ListedPage[], total }
  }

  close(): void {
    this.#database.close()
  }

  async #addPages(source: number, file: string): Promise<IndexProblem | null> {
    const insert = this.#prepare(
      'INSERT INTO page (rowid, folded_title, text, title, changes, path, sections) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    let count = 0
    let isWhole = false
    for await (const line of linesOf(file)) {
      const parsed = line === undefined ? ({ is: 'unreadable' } as const) : parseIndexLine(line)
      if (parsed.is === 'old') return 'old_format'
      if (parsed.is === 'unreadable' || isWhole || (count === 0 && parsed.is !== 'begin')) return 'unreadable'
      if (parsed.is === 'page') {
        const { path, sections } = parsed.page
        const title = clean(parsed.page.title)
        const { text, changes, positions } = foldText(
          clean(parsed.page.text),
          sections.map(({ at }) => at),
        )
        const row = [
          foldText(title).text,
          text,
          title,
          formatChanges(changes),
          path,
          JSON.stringify(sections.map(({ anchor }, at) => ({ at: positions[at], anchor }))),
        ]
        insert.run(source * 2 ** PAGE_BITS + count, ...row)
      }
      isWhole = parsed.is === 'end'
      if (++count === 2 ** PAGE_BITS) return 'unreadable'
    }
    return isWhole ? null : 'unreadable'
  }

  #remove(key: string): void {
    const id = this.#prepare('SELECT id FROM source WHERE key = ?').get(key)?.['id']
    if (typeof id !== 'number') return
    const first = id * 2 ** PAGE_BITS
    this.#prepare('DELETE FROM page WHERE rowid >= ? AND rowid < ?').run(first, first + 2 ** PAGE_BITS)
    this.#prepare('DELETE FROM source WHERE id = ?').run(id)
  }

  #count(phrases: readonly Phrase[], $sources: string): number {
    const count = this.#prepare(`SELECT count(*) AS total FROM page WHERE ${WITHIN}`)
    return Number(count.get({ $match: fts5Query(phrases), $sources })?.['total'])
  }

  #has(phrase: Phrase, $sources: string): boolean {
    const find = this.#prepare(`SELECT 1 FROM page WHERE ${WITHIN} LIMIT 1`)
    return find.get({ $match: fts5Query([phrase]), $sources }) !== undefined
  }

  /** Returns the most similar existing word for a word that no page contains, or the words that it consists of. */
  #correct(word: string, $sources: string): readonly Phrase[] {
    const folded = foldWord(word)
    const phrase = toPhrase(word, true)
    const isUnspaced = phrase.text.includes(WORD_BREAK)
    if (folded.length < MIN_CORRECTED && !isUnspaced) return [phrase]
    if (this.#has(phrase, $sources)) return [phrase]
    if (isUnspaced) {
      const parts = partsOf(word)
      return parts.length > 1 ? parts.map((part) => toPhrase(part, true)) : [phrase]
    }
    const [initial = ''] = folded
    const alike = this.#prepare(
      'SELECT term FROM word WHERE term >= ? AND term < ? AND abs(length(term) - ?) <= 2',
    )
      .all(initial, `${initial}\u{10ffff}`, folded.length)
      .map(({ term }) => String(term))
    // These are the words of all sources, and one of another source must not change the result.
    const found = allNear(folded, alike)
      .slice(0, MAX_CHECKED)
      .find((term) => this.#has(toPhrase(term, false), $sources))
    return [found === undefined ? phrase : toPhrase(found, true)]
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

interface PageRow {
  readonly source: number
  readonly title: string
  readonly text: string
  readonly changes: string
  readonly path: string
  /** With positions in the folded text. */
  readonly sections: string
}

function toPage(row: PageRow, key: string, phrases: readonly Phrase[]): FoundPage {
  const { title, text, changes, path, sections } = row
  const excerpt = cutExcerpt(text, changes, matchesOf(text, phrases), phrases.length)
  const { at } = excerpt
  const before =
    at === undefined ? [] : (JSON.parse(sections) as IndexedPage['sections']).filter((each) => each.at <= at)
  return { key, title, path, excerpt, anchor: before.at(-1)?.anchor }
}

/** Whether a text has something to search for. */
function isWord(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(foldText(text).text)
}

/**
 * Returns the words that a word of a script without spaces consists of. The dictionary divides words that it does not
 * have into characters, which are joined again. A single character is left out: it is a particle or part of a word.
 */
function partsOf(word: string): readonly string[] {
  const parts: string[] = []
  let isSingle = false
  for (const { segment } of SEGMENTER.segment(word)) {
    const wasSingle = isSingle
    isSingle = isWord(segment) && /^.$/u.test(segment)
    if (isSingle && wasSingle) parts.push(`${parts.pop() ?? ''}${segment}`)
    else parts.push(segment)
  }
  return parts.filter((part) => isWord(part) && !/^.$/u.test(part))
}

/** Replaces characters that would look like word breaks or barriers. */
function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the expression is about control characters
  return text.replace(/[\u0000-\u001f]/g, ' ')
}

/** Yields the lines of a file; yields undefined and stops after a line that is too long. */
async function* linesOf(file: string): AsyncGenerator<string | undefined> {
  let rest = ''
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 256 * 1024 })) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length <= MAX_LINE) continue
    // An index of an earlier version is a single line.
    yield rest.startsWith('{"format":1,') ? rest.slice(0, 100) : undefined
    return
  }
  if (rest !== '') yield rest
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const [CORRUPT, NOT_A_DATABASE] = [11, 26]

/** Whether an error means that the file is not an SQLite database, or is damaged. */
export function isDamage(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number }
  return errcode !== undefined && [CORRUPT, NOT_A_DATABASE].includes(errcode & 0xff)
}

/** Deletes a database with its journal files. */
export function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
