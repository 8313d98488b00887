import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { endWithLauncher, LAUNCHER } from './end-with-launcher.ts'
import { packageRoot } from './package.ts'

const OLDEST = [22, 12] as const

/**
 * On a Node older than package.json's "engines", runs the one that scripts/setup installed, or reports what
 * to do if there is none. Returns whether this process is done.
 */
export function runOnFittingNode(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
    endWithLauncher()
    return false
  }
  const brought = join(packageRoot, '.node/node_modules/node/bin/node')
  if (!existsSync(brought)) {
    process.stderr.write(`Node ${OLDEST.join('.')} or newer is needed, this is ${process.versions.node}\n`)
    process.exitCode = 1
    return true
  }
  // This process forwards signals and has its own launcher.
  const env = { ...process.env, [LAUNCHER]: String(process.pid) }
  endWithLauncher()
  const child = spawn(brought, process.argv.slice(1), { stdio: 'inherit', env })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // A terminal interrupts both; the child decides how to exit.
  process.on('SIGINT', () => undefined)
  child.on('exit', (status) => (process.exitCode = status ?? 1))
  return true
}
