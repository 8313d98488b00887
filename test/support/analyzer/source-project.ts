import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { projectOf } from './analyzer-server.ts'
import { compiled } from './javac.ts'

const fixtures = join(packageRoot, 'test/fixtures/java')

/** A Maven project with the classes of a folder in test/fixtures/java, and their sources where Maven has them. */
export function projectWithSources(fixture: string): string {
  const root = projectOf(fixture)
  cpSync(join(fixtures, fixture), join(root, 'src/main/java'), { recursive: true })
  return root
}

/** Puts the classes of a folder in test/fixtures/java into a project's `lib/NAME.jar`, and their sources beside it where wanted. */
export function addLibrary(root: string, name: string, fixture: string, hasSources: boolean): string {
  const jar = join(root, 'lib', `${name}.jar`)
  mkdirSync(dirname(jar), { recursive: true })
  execFileSync('jar', ['cf', jar, '-C', compiled(fixture), '.'])
  if (hasSources)
    execFileSync('jar', ['cf', jar.replace('.jar', '-sources.jar'), '-C', join(fixtures, fixture), '.'])
  return jar
}
