import { statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { packageRoot } from '../../lib/process/package.ts'
import { run } from '../../lib/process/run.ts'
import { toolEnvironment } from '../../lib/process/tool-environment.ts'
import type { Check, Repair } from '../check.ts'

const LIMIT_MS = 60 * 60_000
const ERROR_LINES = 5
/** Installs packages as the set-up does. */
const INSTALL = [
  'bash',
  '-c',
  '. "$1" && shift && apt_install "$@"',
  'bash',
  join(packageRoot, 'scripts/steps/shared.sh'),
]

/** Returns the repair that runs a script of this package. */
export function npmRun(script: string): Repair {
  return { argv: ['npm', '--prefix', packageRoot, 'run', script] }
}

/** A command that repairs something, and what it printed last if it failed. */
export interface RepairResult {
  readonly command: string
  readonly error: string | undefined
}

/**
 * Repairs what checks found missing: installs all packages at once, and then runs each command.
 *
 * @param onCommand called before each command
 * @returns a result per command; none if there is nothing to repair
 */
export async function repair(
  checks: readonly Check[],
  onCommand: (command: string) => void,
): Promise<readonly RepairResult[]> {
  const needed = checks.filter(isRepairable).flatMap((each) => each.repair ?? [])
  const packages = new Set(needed.flatMap((each) => ('package' in each ? [each.package] : [])))
  const install = `apt-get install ${[...packages].join(' ')}`
  const commands = new Map<string, readonly string[]>()
  const results: RepairResult[] = []
  if (packages.size > 0 && canInstall()) commands.set(install, [...INSTALL, ...packages])
  else if (packages.size > 0)
    results.push({
      command: install,
      error: 'requires root on Debian or Ubuntu; install them in another way',
    })
  for (const each of needed) if ('argv' in each) commands.set(each.argv.join(' '), each.argv)
  for (const [command, argv] of commands) {
    onCommand(command)
    results.push({ command, error: await failureOf(argv) })
  }
  return results
}

/** Whether a check found something missing that can be repaired. */
export function isRepairable({ ok, repair: needed }: Check): boolean {
  return !ok && needed !== undefined
}

function canInstall(): boolean {
  return (
    process.getuid?.() === 0 && statSync('/usr/bin/apt-get', { throwIfNoEntry: false })?.isFile() === true
  )
}

/** Runs a command; returns why it failed, or undefined. */
async function failureOf([program = '', ...argv]: readonly string[]): Promise<string | undefined> {
  try {
    const options = { environment: toolEnvironment(), timeoutMs: LIMIT_MS }
    const { status, signal, stdout, stderr } = await run(program, argv, options)
    if (status === 0) return undefined
    const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '')
    return [`exit status ${status ?? signal}`, ...lines.slice(-ERROR_LINES)].join('\n')
  } catch (error) {
    return messageOf(error)
  }
}
