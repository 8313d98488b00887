import type { SupervisorConfig } from '../../config.ts'
import type { UsageMeter } from '../../process/usage.ts'
import type { ReloadResult } from '../../process/process-table.ts'
import type { RequestLog } from '../../proxy/captured-request.ts'
import type { Supervisor } from '../../supervisor.ts'

/** What the routes work on. */
export interface SupervisorFace {
  readonly config: SupervisorConfig
  readonly version: string
  readonly startedMs: number
  readonly supervisor: Supervisor
  readonly usage: UsageMeter
  /** Undefined where the proxy is not enabled. */
  readonly proxy:
    { readonly requests: RequestLog; readonly address: { readonly host: string; port: number } } | undefined
  /** False until what an earlier supervisor left running is taken over. */
  readonly isReady: () => boolean
  readonly isStopping: () => boolean
  /** Ends the supervisor, after the answer is sent. */
  readonly shutDown: () => void
  /** Reads the config anew. */
  readonly reload: () => Promise<ReloadResult & { readonly warnings: readonly string[] }>
}
