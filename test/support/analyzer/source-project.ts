import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { projectOf } from './analyzer-server.ts'
import { compiled } from './javac.ts'

const fixtures = join(packageRoot, 'test/fixtures/java')

/**
 * Creates a Maven project with the classes of a folder in test/fixtures/java, and their sources in Maven's
 * layout.
 */
export function projectWithSources(fixture: string): string {
  const root = projectOf(fixture)
  cpSync(join(fixtures, fixture), join(root, 'src/main/java'), { recursive: true })
  return root
}

/**
 * Writes the classes of a folder in test/fixtures/java to a project's `lib/NAME.jar`, and optionally their
 * sources next to it.
 */
export function addLibrary(root: string, name: string, fixture: string, hasSources: boolean): string {
  const jar = join(root, 'lib', `${name}.jar`)
  mkdirSync(dirname(jar), { recursive: true })
  execFileSync('jar', ['cf', jar, '-C', compiled(fixture), '.'])
  if (hasSources)
    execFileSync('jar', ['cf', jar.replace('.jar', '-sources.jar'), '-C', join(fixtures, fixture), '.'])
  return jar
}
