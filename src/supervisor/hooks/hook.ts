/** Events of a process that hooks can be run for. */
export const EVENTS = ['started', 'restarted', 'healthy', 'unhealthy', 'exited', 'failed'] as const
/** Name of an event. */
export type EventName = (typeof EVENTS)[number]

/** A command or webhook that is run for events. Two hooks with equal JSON are the same. */
export interface Hook {
  /** `page`, or `web.page` for one of the process `web`. */
  readonly name: string
  /** Name in the configuration of the only process that it is run for. */
  readonly process: string | undefined
  readonly events: readonly EventName[]
  readonly action:
    | { readonly kind: 'command'; readonly command: string | readonly string[]; readonly cwd: string }
    | { readonly kind: 'webhook'; readonly url: string; readonly secret: string | undefined }
  /** Maximum duration of the command, or of each request. */
  readonly timeoutMs: number
}
