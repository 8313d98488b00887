import type { SupervisorConfig } from '../../config.ts'
import type { UsageMeter } from '../../process/usage.ts'
import type { ReloadResult } from '../../process/process-table.ts'
import type { RequestLog } from '../../proxy/captured-request.ts'
import type { Supervisor } from '../../supervisor.ts'

/** Dependencies of the routes. */
export interface SupervisorFace {
  readonly config: SupervisorConfig
  readonly version: string
  readonly startedMs: number
  readonly supervisor: Supervisor
  readonly usage: UsageMeter
  /** Undefined if the proxy is not enabled. */
  readonly proxy:
    { readonly requests: RequestLog; readonly address: { readonly host: string; port: number } } | undefined
  /** False until processes of an earlier supervisor are taken over. */
  readonly isReady: () => boolean
  readonly isStopping: () => boolean
  /** Stops the supervisor after the response is sent. */
  readonly shutDown: () => void
  /** Reloads the configuration. */
  readonly reload: () => Promise<ReloadResult & { readonly warnings: readonly string[] }>
}
