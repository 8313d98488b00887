import { createHash } from 'node:crypto'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { run } from '../../lib/process/run.ts'
import { fault } from '../errors.ts'

const TIMEOUT_MS = 60_000
/** Contents that one process reads; its output has a limit. */
const BATCH_BYTES = 2 ** 23

/**
 * Settings of git for a repository that is not trusted. Its configuration can name programs: filters, drivers
 * of diffs, monitors of files, transports of missing objects. Only commands that read objects are used, which
 * start none of the first three, and the last is forbidden.
 */
const SETTINGS = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'protocol.allow=never'].flatMap(
  (setting) => ['-c', setting],
)

/** A revision of the files below a directory, read from the objects of a git repository. */
export class GitTree {
  readonly #directory: string
  /** Ids of contents by path relative to the directory. */
  readonly files: ReadonlyMap<string, string>

  private constructor(directory: string, files: ReadonlyMap<string, string>) {
    this.#directory = directory
    this.files = files
  }

  /**
   * Lists the files of a revision. Runs nothing that the repository configures.
   *
   * @throws BAD_REQUEST when there is no repository, revision or git
   */
  static async read(directory: string, revision: string): Promise<GitTree> {
    const listed = await git(directory, ['rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`])
    const { stdout } = await git(directory, ['ls-tree', '-r', '-z', listed.stdout.trim()])
    const files = new Map<string, string>()
    for (const line of stdout.split('\0')) {
      // Links and submodules are not files.
      const [, id, path] = /^100\d{3} blob ([0-9a-f]+)\t(.+)$/s.exec(line) ?? []
      if (id !== undefined && path !== undefined) files.set(path, id)
    }
    return new GitTree(directory, files)
  }

  /**
   * Yields the texts of files in the revision, in the same order; undefined for larger ones. One process reads many.
   *
   * @param maxBytes at most half of the limit of `run`
   * @throws BAD_REQUEST when an object is missing
   */
  async *textsOf(
    paths: readonly string[],
    maxBytes: number,
  ): AsyncGenerator<readonly [path: string, text: string | undefined]> {
    if (paths.length === 0) return
    const listed = await this.#readObjects(paths, '--batch-check')
    const sizes = listed.split('\n').slice(0, -1).map(sizeOf)
    let batch: string[] = []
    let batchBytes = 0
    for (const [at, path] of paths.entries()) {
      const size = sizes[at] ?? 0
      const isRead = size <= maxBytes
      if (!isRead || batchBytes + size > BATCH_BYTES) {
        yield* this.#readTexts(batch)
        batch = []
        batchBytes = 0
      }
      if (!isRead) yield [path, undefined]
      else {
        batch.push(path)
        batchBytes += size
      }
    }
    yield* this.#readTexts(batch)
  }

  async *#readTexts(paths: readonly string[]): AsyncGenerator<readonly [path: string, text: string]> {
    if (paths.length === 0) return
    const read = await this.#readObjects(paths, '--batch')
    let at = 0
    for (const path of paths) {
      const start = read.indexOf('\n', at) + 1
      const end = start + sizeOf(read.slice(at, start - 1))
      yield [path, Buffer.from(read.slice(start, end), 'latin1').toString()]
      at = end + 1
    }
  }

  async #readObjects(paths: readonly string[], option: string): Promise<string> {
    const ids = paths.map((path) => {
      const id = this.files.get(path)
      if (id === undefined) throw new RangeError(`${path} is not in the revision`)
      return `${id}\n`
    })
    const argv = ['cat-file', option, '--buffer']
    return (await git(this.#directory, argv, { input: ids.join(''), encoding: 'latin1' })).stdout
  }
}

/** Returns the size in the line that `git cat-file` prints about an object. */
function sizeOf(line: string): number {
  const [, size] = /^[0-9a-f]+ blob (\d+)$/.exec(line) ?? []
  if (size === undefined) throw fault('BAD_REQUEST', `git: ${line}`)
  return Number(size)
}

/** Returns the id that git gives to contents, of the same kind as another id. */
export function gitIdOf(bytes: Buffer, other: string): string {
  return createHash(other.length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${bytes.length}\0`)
    .update(bytes)
    .digest('hex')
}

async function git(
  directory: string,
  argv: readonly string[],
  more: { readonly input?: string; readonly encoding?: 'latin1' } = {},
) {
  const { PATH = '', HOME } = process.env
  const environment = {
    PATH,
    ...(HOME !== undefined && { HOME }),
    LC_ALL: 'C.UTF-8',
    GIT_ALLOW_PROTOCOL: '',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
  }
  const options = { cwd: directory, environment, timeoutMs: TIMEOUT_MS, ...more }
  try {
    const result = await run('git', ['--no-pager', ...SETTINGS, ...argv], options)
    if (result.status === 0) return result
    throw fault(
      'BAD_REQUEST',
      `git: ${result.stderr.trim() || `exited with ${result.status ?? result.signal}`}`,
    )
  } catch (error) {
    if (isFault(error)) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw fault('BAD_REQUEST', 'git is not installed; use --against with an older build', error)
    throw fault('BAD_REQUEST', `git failed: ${messageOf(error)}`, error)
  }
}
