import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { madeOnce } from '../made-once.ts'

/** Returns the home of the JDK whose javac is on PATH. */
export function jdkHome(): string {
  const javac = execFileSync('sh', ['-c', 'command -v javac'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(javac)))
}

/** Returns the JDK's exact version. */
export function jdkRelease(): string {
  return readFileSync(join(jdkHome(), 'release'), 'utf8')
}

/** Returns a JDK with only the module java.base: its 6,000 classes are read in a second. */
export function smallJdk(): string {
  return join(madeOnce('jdk', [jdkRelease()], linkJavaBase), 'jdk')
}

/** Returns the same, with the sources of openjdk-17-source. */
export function jdkWithSources(): string {
  const sources = join(jdkHome(), 'lib/src.zip')
  if (!existsSync(sources))
    throw new Error(`${sources} is missing: scripts/test-tools brings openjdk-17-source`)
  const folder = madeOnce('jdk-with-sources', [jdkRelease(), sources], (out) => {
    linkJavaBase(out)
    symlinkSync(sources, join(out, 'jdk/lib/src.zip'))
  })
  return join(folder, 'jdk')
}

/** jlink creates its folder itself. */
function linkJavaBase(out: string): void {
  execFileSync(join(jdkHome(), 'bin/jlink'), ['--add-modules', 'java.base', '--output', join(out, 'jdk')])
}
