import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'

/** The home of the JDK whose javac is on PATH. */
export function jdkHome(): string {
  const javac = execFileSync('sh', ['-c', 'command -v javac'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(javac)))
}
