import type { AnalyzerConfig } from '../../config.ts'
import type { LintService } from '../../lint/lint-service.ts'
import type { Analysis } from '../../lifecycle/analysis.ts'
import type { ProjectWatch } from '../../watch/project-watch.ts'
import type { SourceService } from '../../source/source-service.ts'
import type { IdleClock } from '../../lifecycle/idle-clock.ts'

/** What the HTTP routes work with. */
export interface AnalyzerFace {
  readonly config: AnalyzerConfig
  readonly version: string
  readonly projectPath: string
  readonly projectName: string
  readonly startedAt: Date
  /** Set once it listens. */
  readonly address: { port: number }
  readonly analysis: Analysis
  readonly source: SourceService
  readonly lint: LintService
  /** Undefined where nothing is watched. */
  readonly watch: ProjectWatch | undefined
  readonly idle: IdleClock
  /** Ends the server, after the answer is sent. */
  readonly shutDown: () => void
}
