import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { conversionSandbox } from './conversion-sandbox.ts'
import { runTool } from './tool.ts'

/** Mode bits that encode a file's kind, and the kinds regular file, directory and link. */
const KIND = 0o170000
const PLAIN = [0o100000, 0o040000, 0o120000] as const

/**
 * Preserves the owners of an image's files. Root sets them directly; other users run the programs that unpack
 * and read the tree under fakeroot, which records the owners in a file.
 */
export class Owners {
  readonly #directory: string
  readonly #state: string | undefined

  /** @param directory where the record may be stored, beside the trees */
  constructor(directory: string) {
    this.#directory = directory
    this.#state = process.getuid?.() === 0 ? undefined : join(directory, 'owners')
  }

  /** Returns the command that runs this as root or under fakeroot. */
  as(argv: readonly string[]): readonly string[] {
    if (this.#state === undefined) return argv
    const loaded = existsSync(this.#state) ? ['-i', this.#state] : []
    // In a user namespace, setting an unmapped owner fails with EINVAL rather than EPERM, and fakeroot
    // ignores only the latter.
    return ['env', 'FAKEROOTDONTTRYCHOWN=1', 'fakeroot', ...loaded, '-s', this.#state, '--', ...argv]
  }

  /** Whether extended attributes can be set, including file capabilities. */
  get haveAttributes(): boolean {
    return this.#state === undefined
  }

  /** Makes root the owner of trees that this process created. */
  async giveToRoot(paths: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    if (this.#state === undefined) return
    await runTool(this.as(['chown', '-hR', '0:0', '--', ...paths]), {
      what: 'changing the owner of our files to root',
      package: 'fakeroot',
      sandbox: conversionSandbox({ writable: [this.#directory] }),
      signal,
    })
  }

  /**
   * Removes the device nodes, FIFOs and sockets from fakeroot's record, which are empty files on disk.
   * Returns the inode numbers of those files; none when this process is root, which was not permitted to
   * create such nodes.
   */
  forgetNodes(): readonly number[] {
    if (this.#state === undefined || !existsSync(this.#state)) return []
    const lines = readFileSync(this.#state, 'utf8').split('\n')
    const nodes = lines.filter(isNode)
    if (nodes.length > 0) writeFileSync(this.#state, lines.filter((line) => !isNode(line)).join('\n'))
    return nodes.map((line) => Number(/(?:^|,)ino=(\d+)/.exec(line)?.[1]))
  }
}

/**
 * Returns whether a line of fakeroot's record describes anything other than a regular file, directory or
 * link.
 */
function isNode(line: string): boolean {
  const mode = Number.parseInt(/(?:^|,)mode=(\d+)/.exec(line)?.[1] ?? '', 8)
  return !Number.isNaN(mode) && !PLAIN.some((kind) => (mode & KIND) === kind)
}
