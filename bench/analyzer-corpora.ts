import { execFileSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../src/lib/process/package.ts'
import { corpusJar, largeJars } from '../test/support/analyzer/corpora.ts'
import { jdkHome } from '../test/support/analyzer/jdk.ts'

/** Writes the classes of the JDK's java.base as a deflated jar, which peers can read too; returns its path. */
export function javaBaseJar(folder: string): string {
  const classes = join(folder, 'java.base')
  execFileSync('jmod', ['extract', '--dir', classes, join(jdkHome(), 'jmods/java.base.jmod')])
  // With module-info, jdeps would analyze the running JDK's java.base instead.
  rmSync(join(classes, 'classes/module-info.class'))
  const jar = join(folder, 'java.base.jar')
  execFileSync('jar', ['--create', '--no-manifest', '--file', jar, '-C', join(classes, 'classes'), '.'])
  rmSync(classes, { recursive: true })
  return jar
}

/**
 * Returns public jars of nine projects, 59,000 classes. The tenth is omitted because jdeps refuses a module without
 * its dependencies.
 */
export function nineJars(): readonly string[] {
  return largeJars.filter((name) => name !== 'tomcat10-catalina-').map((name) => corpusJar(name))
}

/** Creates a project with these jars as libraries. */
export function projectOfJars(root: string, jars: readonly string[]): string {
  mkdirSync(join(root, 'lib'), { recursive: true })
  writeFileSync(join(root, 'pom.xml'), '<project/>\n')
  for (const [i, jar] of jars.entries()) copyFileSync(jar, join(root, 'lib', `${i}-${basename(jar)}`))
  return root
}

/** Creates a project whose own classes are those of the jars. */
export function projectOfClasses(root: string, jars: readonly string[]): string {
  const classes = join(root, 'target/classes')
  mkdirSync(classes, { recursive: true })
  writeFileSync(join(root, 'pom.xml'), '<project/>\n')
  for (const jar of jars) execFileSync('jar', ['--extract', '--file', jar], { cwd: classes })
  rmSync(join(classes, 'META-INF'), { recursive: true, force: true })
  rmSync(join(classes, 'module-info.class'), { force: true })
  return root
}

/** A class that differs each time it is compiled. */
export class ChangingClass {
  readonly file: string
  #count = 0

  constructor(folder: string) {
    this.file = join(folder, 'Changing.java')
  }

  /** Compiles a new variant; returns the folder with the class file. */
  next(): string {
    const folder = join(this.file, '..')
    writeFileSync(
      this.file,
      `public class Changing { public static String count() { return "${this.#count++}"; } }\n`,
    )
    execFileSync('javac', ['-d', folder, this.file])
    return folder
  }
}

/** Returns the bytes allocated to all files below a folder. */
export function bytesBelow(folder: string): number {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0)
}

/** Returns all jars of a realistic Maven repository, which is downloaded if it is missing. */
export function repositoryJars(): readonly string[] {
  const out = execFileSync(join(packageRoot, 'scripts/maven-repository'), { encoding: 'utf8' })
  const folder = out.trim().split('\n').at(-1) ?? ''
  return globSync('**/*.jar', { cwd: folder })
    .toSorted()
    .map((jar) => join(folder, jar))
}
