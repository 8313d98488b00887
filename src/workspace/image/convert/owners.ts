import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from './tool.ts'

/**
 * How the owners of an image's files are kept. Root gives files to whom it likes; others run the programs that unpack and
 * read the tree under fakeroot, which remembers in a file who should own what.
 */
export class Owners {
  readonly #state: string | undefined

  /** @param directory where what is remembered may be kept */
  constructor(directory: string) {
    this.#state = process.getuid?.() === 0 ? undefined : join(directory, 'owners')
  }

  /** The command that does this as root would. */
  as(argv: readonly string[]): readonly string[] {
    if (this.#state === undefined) return argv
    const loaded = existsSync(this.#state) ? ['-i', this.#state] : []
    return ['fakeroot', ...loaded, '-s', this.#state, '--', ...argv]
  }

  /** Whether extended attributes can be set, file capabilities among them. */
  get haveAttributes(): boolean {
    return this.#state === undefined
  }

  /** Makes root the owner of trees that this process has made. */
  async giveToRoot(paths: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    if (this.#state === undefined) return
    const what = 'giving our files to root'
    await runTool(this.as(['chown', '-hR', '0:0', '--', ...paths]), { what, package: 'fakeroot', signal })
  }
}
