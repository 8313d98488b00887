import type { AnalyzerConfig } from '../../config.ts'
import type { LintService } from '../../lint/lint-service.ts'
import type { Analysis } from '../../lifecycle/analysis.ts'
import type { DeclaredDependencies } from '../../project/declared-dependencies.ts'
import type { SearchQueue } from '../../query/search-queue.ts'
import type { ProjectWatch } from '../../watch/project-watch.ts'
import type { SourceService } from '../../source/source-service.ts'
import type { IdleClock } from '../../lifecycle/idle-clock.ts'

/** Services that the HTTP routes use. */
export interface AnalyzerFace {
  readonly config: AnalyzerConfig
  readonly version: string
  readonly projectPath: string
  readonly projectName: string
  readonly startedAt: Date
  /** Set once the server listens. */
  readonly address: { port: number }
  readonly analysis: Analysis
  readonly searches: SearchQueue
  readonly declared: DeclaredDependencies
  readonly source: SourceService
  readonly lint: LintService
  /** Undefined if watching is off. */
  readonly watch: ProjectWatch | undefined
  readonly idle: IdleClock
  /** Stops the server; called after the response is sent. */
  readonly shutDown: () => void
}
