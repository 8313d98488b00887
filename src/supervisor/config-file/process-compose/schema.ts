import type { Static } from 'typebox'
import { Type } from '../../../lib/schema/type.ts'

const text = Type.Optional(Type.String())
const flag = Type.Optional(Type.Boolean())
const count = Type.Optional(Type.Integer({ minimum: 0 }))
const words = Type.Optional(Type.Array(Type.String()))
const textOrNumber = Type.Optional(Type.Unsafe<string | number>({ type: ['string', 'integer'] }))
const anything = Type.Unsafe<unknown>({})
const variables = Type.Optional(Type.Record(Type.String(), anything))
/** `["A=1"]`, or `{A: 1}`. */
const environment = Type.Optional(
  Type.Unsafe<readonly string[] | Readonly<Record<string, unknown>> | null>({
    type: ['array', 'object', 'null'],
  }),
)
const group = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Optional(Type.Object(properties))

const probe = group({
  exec: group({ command: Type.String(), working_dir: text }),
  http_get: group({
    scheme: text,
    host: text,
    port: textOrNumber,
    path: text,
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    status_code: count,
  }),
  initial_delay_seconds: count,
  period_seconds: count,
  timeout_seconds: count,
  failure_threshold: count,
})

/** Keys without effect here: documentation, or settings of process-compose itself. */
const ignored = {
  description: Type.Optional(anything),
  disable_ansi_colors: Type.Optional(anything),
  launch_timeout_seconds: Type.Optional(anything),
}

/** Keys of a process in a process-compose file. */
export const processKeys = {
  ...ignored,
  command: text,
  entrypoint: words,
  working_dir: text,
  environment,
  env_file: Type.Optional(Type.Unsafe<string | readonly string[]>({ type: ['string', 'array'] })),
  is_dotenv_disabled: flag,
  vars: variables,
  depends_on: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        condition: Type.Optional(
          Type.Enum([
            'process_started',
            'process_healthy',
            'process_log_ready',
            'process_completed',
            'process_completed_successfully',
          ]),
        ),
      }),
    ),
  ),
  availability: group({
    restart: Type.Optional(Type.Enum(['no', 'always', 'on_failure', 'exit_on_failure'])),
    backoff_seconds: count,
    max_restarts: count,
    exit_on_end: flag,
    exit_on_skipped: flag,
    success_exit_codes: Type.Optional(Type.Array(Type.Integer())),
  }),
  readiness_probe: probe,
  liveness_probe: probe,
  ready_log_line: text,
  shutdown: group({ command: text, signal: count, timeout_seconds: count, parent_only: flag }),
  namespace: text,
  disabled: flag,
  is_disabled: text,
  is_tty: flag,
  replicas: count,
  log_location: text,
  schedule: group({ cron: text, interval: text }),
} as const

/** Top-level keys of a process-compose file. */
export const projectKeys = {
  version: Type.Optional(anything),
  log_level: Type.Optional(anything),
  log_format: Type.Optional(anything),
  is_strict: Type.Optional(anything),
  is_tui_disabled: Type.Optional(anything),
  processes: Type.Optional(Type.Record(Type.String(), Type.Object(processKeys))),
  environment,
  vars: variables,
  shell: group({ shell_command: text, shell_argument: text }),
  log_length: count,
  log_configuration: group({ rotation: group({ max_size_mb: count, max_backups: count }) }),
  disable_env_expansion: flag,
  extends: text,
} as const

/** Schema of a process-compose file (version 0.5) with the supported keys; unknown keys are reported separately. */
export const projectSchema = Type.Object(projectKeys)

/** A parsed process-compose file. */
export type Project = Static<typeof projectSchema>
/** A process in a process-compose file. */
export type ComposeProcess = NonNullable<Project['processes']>[string]
/** A probe of a process in a process-compose file. */
export type Probe = NonNullable<ComposeProcess['readiness_probe']>
