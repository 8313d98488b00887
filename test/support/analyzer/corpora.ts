import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import type { ClassContainer } from '../../../src/analyzer/classpath/class-container.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { jdkHome } from './jdk.ts'

/** Returns the folder with the large jars, after downloading them if necessary. */
function corpora(): string {
  const out = execFileSync(join(packageRoot, 'scripts/corpora'), { encoding: 'utf8' })
  return out.trim().split('\n').at(-1) ?? ''
}

/** Ten jars of different compilers and ages, by part of their names. */
export const largeJars = [
  'kotlin-compiler-1.',
  'fastutil-',
  'groovy-all-',
  'aspectjtools-',
  'bcprov-',
  'eclipselink-',
  'guava-',
  'tomcat10-catalina-',
  'scala-library-',
  'spring3-core-',
] as const

/** Returns the path of the first downloaded jar whose name begins as given. */
export function corpusJar(name: string): string {
  const folder = corpora()
  const [found] = globSync(`*/usr/share/java/**/${name}*.jar`, { cwd: folder }).toSorted()
  if (found === undefined) throw new Error(`no jar is called ${name}*.jar below ${folder}`)
  return join(folder, found)
}

/** java.base of the JDK, from its image. */
export function javaBase(): ClassContainer {
  const { containers } = listClasses(join(jdkHome(), 'lib/modules'), 17)
  const [image] = containers
  if (image === undefined) throw new Error('the JDK has no lib/modules')
  return { ...image, classes: image.classes.filter((entry) => entry.module === 'java.base') }
}
