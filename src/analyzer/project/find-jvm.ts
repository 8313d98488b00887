import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fault } from '../errors.ts'

/** A JVM that a project is built against. */
export interface Jvm {
  readonly home: string
  /** Java release, 8 to 27 …; 8 if unknown. */
  readonly release: number
  /** Location of its classes: `lib/modules`, or the jars of a Java 8. */
  readonly classes: readonly string[]
}

/** Finds the named JVM, else that of JAVA_HOME, else that of PATH. */
export function findJvm(
  named: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Jvm | undefined {
  const candidates = [named, environment['JAVA_HOME'], homeOnPath(environment['PATH'])]
  for (const home of candidates) {
    if (home === undefined || home === '') continue
    const classes = classesOf(home)
    if (classes.length > 0) return { home, release: releaseOf(home), classes }
  }
  return undefined
}

/**
 * Returns the absolute path of a named JVM.
 *
 * @param name option or setting that names it
 * @throws BAD_REQUEST when the folder does not exist, or is not a JVM
 */
export function getJvmHome(home: string, name: string): string {
  if (!existsSync(home)) throw fault('BAD_REQUEST', `${name}: "${home}" does not exist`)
  if (classesOf(home).length > 0) return resolve(home)
  throw fault(
    'BAD_REQUEST',
    `${name}: "${home}" is not the home of a JVM, which has lib/modules, or lib/rt.jar before Java 9`,
  )
}

function homeOnPath(path = ''): string | undefined {
  const java = path
    .split(delimiter)
    .map((folder) => join(folder, 'java'))
    .find((file) => existsSync(file))
  return java === undefined ? undefined : dirname(dirname(realpathSync(java)))
}

function classesOf(home: string): readonly string[] {
  const modules = join(home, 'lib/modules')
  if (existsSync(modules)) return [modules]
  const old = [
    'jre/lib/rt.jar',
    'jre/lib/jce.jar',
    'jre/lib/jsse.jar',
    'lib/rt.jar',
    'lib/jce.jar',
    'lib/jsse.jar',
  ]
  return old.map((jar) => join(home, jar)).filter((jar) => existsSync(jar))
}

/** "17.0.15" is 17, "1.8.0_402" is 8. */
function releaseOf(home: string): number {
  try {
    const [, version = ''] =
      /^JAVA_VERSION="([^"]+)"/m.exec(readFileSync(join(home, 'release'), 'utf8')) ?? []
    const [first = '8', second = '8'] = version.split(/[._+-]/)
    return Number(first === '1' ? second : first) || 8
  } catch {
    return 8
  }
}
