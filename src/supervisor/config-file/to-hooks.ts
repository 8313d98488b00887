import { configFault } from '../../lib/config/check.ts'
import type { HookSettings, Settings } from '../config-schema.ts'
import type { Hook } from '../hooks/hook.ts'
import { interpolate } from '../process/interpolate.ts'

interface Place {
  readonly file: string
  /** Working directory of commands. */
  readonly base: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Returns the hooks of a configuration. @throws CONFIG_INVALID with a line for each mistake */
export function toHooks(settings: Settings, place: Place): readonly Hook[] {
  const mistakes: string[] = []
  const read = (hooks: Settings['hooks'], key: string, process?: string): readonly Hook[] =>
    Object.entries(hooks).flatMap(([name, one]) => {
      const action = actionOf(one, place)
      if (typeof action === 'string') mistakes.push(`${place.file}: "${key}.${name}" ${action}`)
      if (typeof action === 'string') return []
      const { on: events, timeoutMs } = one
      return [
        { name: process === undefined ? name : `${process}.${name}`, process, events, action, timeoutMs },
      ]
    })
  const hooks = [
    ...read(settings.hooks, 'hooks'),
    ...Object.entries(settings.processes).flatMap(([name, { hooks: own }]) =>
      read(own, `processes.${name}.hooks`, name),
    ),
  ]
  if (mistakes.length > 0) throw configFault('CONFIG_INVALID', mistakes.join('\n'))
  return hooks
}

/** Returns what a hook does, or what is wrong with it. */
function actionOf(
  { command, url, secret }: HookSettings,
  { base, environment }: Place,
): Hook['action'] | string {
  if ((command === undefined) === (url === undefined)) return 'must have either command or url'
  if (command !== undefined)
    return secret === undefined
      ? { kind: 'command', command, cwd: base }
      : 'has a secret, which only a url can have'
  const resolved = interpolate(url ?? '', environment)
  if (!URL.canParse(resolved) || !/^https?:/.test(resolved)) return 'must have an http or https URL as url'
  const key = secret === undefined ? undefined : interpolate(secret, environment)
  // Otherwise a missing variable would sign with a key that everyone knows.
  if (key === '') return 'has an empty secret; set its variable'
  return { kind: 'webhook', url: resolved, secret: key }
}
