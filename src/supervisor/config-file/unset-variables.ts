import { isFault } from '../../lib/errors/fault.ts'
import { referencesOf } from '../process/interpolate.ts'
import { environmentOf } from '../process/process-environment.ts'
import { INSTANCE_VARIABLE, PROCESS_VARIABLE } from '../process/process-tree.ts'
import type { ProcessSpec } from '../process-spec.ts'

/** Set for each process by the supervisor, or by a shell. */
const ALWAYS_SET = [
  INSTANCE_VARIABLE,
  PROCESS_VARIABLE,
  ...'PORT TERM HOME USER LOGNAME PWD OLDPWD PPID IFS OPTIND OPTARG LINENO PS4'.split(' '),
]

/**
 * Returns a sentence for each variable that a command or a value in `env` refers to, without a default, and that neither
 * the environment, nor the process's own settings, nor the command itself sets.
 */
export function unsetVariables(
  specs: readonly ProcessSpec[],
  environment: NodeJS.ProcessEnv,
): readonly string[] {
  return [...new Set(specs.flatMap((spec) => ofProcess(spec, environment)))]
}

function ofProcess(spec: ProcessSpec, environment: NodeJS.ProcessEnv): readonly string[] {
  const known = knownTo(spec, environment)
  if (known === undefined) return []
  const { healthCheck, base } = spec
  const probe = healthCheck?.probe
  const texts = {
    cmd: spec.command,
    stop_command: spec.stopCommand,
    'healthcheck.exec': probe?.kind === 'exec' ? probe.command : undefined,
    ...Object.fromEntries(Object.entries(spec.env).map(([key, value]) => [`env.${key}`, [value]])),
  }
  return Object.entries(texts)
    .flatMap(([key, text]) => namesIn(text).map((name) => [key, name] as const))
    .filter(([, name]) => !known.has(name))
    .map(([key, name]) => `"processes.${base}.${key}" uses $${name}, which is not set here`)
}

/** Returns the names of the variables of a process; undefined if an env file cannot be read, which its start reports. */
function knownTo(spec: ProcessSpec, environment: NodeJS.ProcessEnv): ReadonlySet<string> | undefined {
  try {
    return new Set([...ALWAYS_SET, ...Object.keys(environmentOf(spec, environment))])
  } catch (error) {
    if (isFault(error)) return undefined
    throw error
  }
}

/** Returns the names in a command of the shell, or in texts whose references the supervisor resolves. */
function namesIn(command: string | readonly string[] = []): readonly string[] {
  if (typeof command !== 'string') return command.flatMap(referencesOf)
  // A shell reads neither text in single quotes nor after a backslash.
  const read = command.replace(/\\[^]|'[^']*'/g, ' ')
  // A name that is also written without `$` is set there: NAME=value, `for NAME`, `read NAME`.
  const isSet = (name: string): boolean => new RegExp(String.raw`(?<![\w$]|\$\{)${name}(?!\w)`).test(command)
  return referencesOf(read).filter((name) => !isSet(name))
}
