import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cage } from './cage.ts'
import { runTool } from './tool.ts'

/** The bits of a mode that say what a file is, and those of a plain file, a directory and a link. */
const KIND = 0o170000
const PLAIN = [0o100000, 0o040000, 0o120000] as const

/**
 * How the owners of an image's files are kept. Root gives files to whom it likes; others run the programs that unpack and
 * read the tree under fakeroot, which remembers in a file who should own what.
 */
export class Owners {
  readonly #directory: string
  readonly #state: string | undefined

  /** @param directory where what is remembered may be kept, with the trees below it */
  constructor(directory: string) {
    this.#directory = directory
    this.#state = process.getuid?.() === 0 ? undefined : join(directory, 'owners')
  }

  /** The command that does this as root would. */
  as(argv: readonly string[]): readonly string[] {
    if (this.#state === undefined) return argv
    const loaded = existsSync(this.#state) ? ['-i', this.#state] : []
    // In a user namespace, owners that do not exist there are not a matter of permission, which alone fakeroot overlooks.
    return ['env', 'FAKEROOTDONTTRYCHOWN=1', 'fakeroot', ...loaded, '-s', this.#state, '--', ...argv]
  }

  /** Whether extended attributes can be set, file capabilities among them. */
  get haveAttributes(): boolean {
    return this.#state === undefined
  }

  /** Makes root the owner of trees that this process has made. */
  async giveToRoot(paths: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    if (this.#state === undefined) return
    await runTool(this.as(['chown', '-hR', '0:0', '--', ...paths]), {
      what: 'giving our files to root',
      package: 'fakeroot',
      sandbox: cage({ writable: [this.#directory] }),
      signal,
    })
  }

  /**
   * Forgets the device nodes, FIFOs and sockets that fakeroot remembers; what stands for them are empty files. Returns the inode numbers of those.
   * None where this process is root, which was not permitted to make any.
   */
  forgetNodes(): readonly number[] {
    if (this.#state === undefined || !existsSync(this.#state)) return []
    const lines = readFileSync(this.#state, 'utf8').split('\n')
    const nodes = lines.filter(isNode)
    if (nodes.length > 0) writeFileSync(this.#state, lines.filter((line) => !isNode(line)).join('\n'))
    return nodes.map((line) => Number(/(?:^|,)ino=(\d+)/.exec(line)?.[1]))
  }
}

/** Whether a line of fakeroot's file stands for something that is no plain file, directory or link. */
function isNode(line: string): boolean {
  const mode = Number.parseInt(/(?:^|,)mode=(\d+)/.exec(line)?.[1] ?? '', 8)
  return !Number.isNaN(mode) && !PLAIN.some((kind) => (mode & KIND) === kind)
}
