import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The home of the JDK whose javac is on PATH. */
export function jdkHome(): string {
  const javac = execFileSync('sh', ['-c', 'command -v javac'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(javac)))
}

let small: string | undefined

/** A real JDK of the module java.base alone, made once in each test process: its 6,000 classes are read in a second. */
export function smallJdk(): string {
  if (small === undefined) {
    small = join(mkdtempSync(join(tmpdir(), 'workspace-jdk-')), 'jdk')
    const home = small
    process.on('exit', () => rmSync(dirname(home), { recursive: true, force: true }))
    execFileSync(join(jdkHome(), 'bin/jlink'), ['--add-modules', 'java.base', '--output', small])
  }
  return small
}
