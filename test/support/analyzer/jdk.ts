import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { madeOnce } from '../made-once.ts'

/** The home of the JDK whose javac is on PATH. */
export function jdkHome(): string {
  const javac = execFileSync('sh', ['-c', 'command -v javac'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(javac)))
}

/** Names the JDK's exact version. */
export function jdkRelease(): string {
  return readFileSync(join(jdkHome(), 'release'), 'utf8')
}

/** A real JDK of the module java.base alone: its 6,000 classes are read in a second. */
export function smallJdk(): string {
  return join(madeOnce('jdk', [jdkRelease()], linkJavaBase), 'jdk')
}

/** The same, with the sources that openjdk-17-source brings. */
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

/** jlink makes its folder itself. */
function linkJavaBase(out: string): void {
  execFileSync(join(jdkHome(), 'bin/jlink'), ['--add-modules', 'java.base', '--output', join(out, 'jdk')])
}
