import type { Logger } from '../../lib/log/logger.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { AnalyzerConfig } from '../config.ts'
import { fault } from '../errors.ts'
import { stampOf } from './build-tool-cache.ts'
import type { DependencyReport } from './dependency-report.ts'
import { findJvm } from './find-jvm.ts'
import { mavenDependencies } from './maven-dependencies.ts'

/** A report, or the reason why there is none. */
export type DependencyAnswer = DependencyReport & { readonly problem: string | null }

/**
 * Dependencies that the modules of a project declare. The build tool is asked at the first question, and again
 * when a file that defines the build has changed: a class path does not need them, so a start does not wait.
 */
export class DeclaredDependencies {
  readonly #config: Pick<AnalyzerConfig, 'jvmHome'>
  readonly #root: string
  readonly #logger: Logger
  readonly #closed = new AbortController()
  #asked: { readonly stamp: string; readonly answer: Promise<DependencyReport> } | undefined

  constructor(config: Pick<AnalyzerConfig, 'jvmHome'>, root: string, logger: Logger) {
    this.#config = config
    this.#root = root
    this.#logger = logger
  }

  /**
   * Returns the dependencies. A failure of the build tool is the answer's problem, not an error.
   *
   * @param resolvedBy origin of the class path: without the libraries in it, every dependency looks unused
   */
  async get(resolvedBy: string): Promise<DependencyAnswer> {
    if (resolvedBy !== 'maven')
      return unknown(
        `which dependencies a project declares is known for Maven only; this class path is from: ${resolvedBy}`,
      )
    try {
      return { ...(await this.#ask()), problem: null }
    } catch (error) {
      this.#closed.signal.throwIfAborted()
      return unknown(messageOf(error))
    }
  }

  close(): void {
    this.#closed.abort(fault('SCAN_FAILED', 'the server is stopping'))
  }

  async #ask(): Promise<DependencyReport> {
    const request = {
      root: this.#root,
      jvm: findJvm(this.#config.jvmHome, process.env),
      logger: this.#logger,
      signal: this.#closed.signal,
    }
    const stamp = await stampOf(request)
    if (this.#asked?.stamp === stamp) return this.#asked.answer
    const asked = { stamp, answer: mavenDependencies(request) }
    this.#asked = asked
    // A module without a report, or Maven without a network, may have one next time.
    const forget = (): void => {
      if (this.#asked === asked) this.#asked = undefined
    }
    asked.answer.then(({ missing }) => missing.length > 0 && forget(), forget)
    return asked.answer
  }
}

function unknown(problem: string): DependencyAnswer {
  return { modules: [], missing: [], problem }
}
