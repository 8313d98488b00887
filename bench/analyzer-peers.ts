import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mavenJar } from '../test/support/analyzer/maven-jar.ts'
import type { Subject } from './time.ts'

const CLASSGRAPH = 'io.github.classgraph:classgraph:4.8.193'
const JANDEX = 'io.smallrye:jandex:3.6.0'

type Command = readonly [string, ...string[]]

/** Complete commands of other tools that read class files. */
export class Peers {
  readonly #folder: string
  readonly #classPath: string

  /** @param folder folder for compiled and written files; the caller removes it */
  constructor(folder: string) {
    this.#folder = join(folder, 'peers')
    mkdirSync(this.#folder)
    const jars = [mavenJar(CLASSGRAPH), mavenJar(JANDEX)]
    const sources = ['ClassGraphScan', 'JandexIndex'].map((name) =>
      join(import.meta.dirname, 'peers', `${name}.java`),
    )
    execFileSync('javac', ['-d', this.#folder, '-cp', jars.join(':'), ...sources])
    this.#classPath = [this.#folder, ...jars].join(':')
  }

  all(places: readonly string[]): readonly { readonly name: string; readonly subject: Subject }[] {
    return [
      { name: 'jdeps', subject: jdeps(places) },
      { name: 'Jandex', subject: this.jandex(places) },
      { name: 'ClassGraph', subject: this.classGraph(places) },
    ]
  }

  classGraph(places: readonly string[]): Command {
    return ['java', '-cp', this.#classPath, 'ClassGraphScan', ...places]
  }

  jandex(places: readonly string[]): Command {
    return ['java', '-cp', this.#classPath, 'JandexIndex', join(this.#folder, 'jandex.idx'), ...places]
  }
}

/** Returns the jdeps command that lists every dependency of the classes in the given places. */
export function jdeps(places: readonly string[]): Command {
  return ['jdeps', '-verbose:class', '-filter:none', '--multi-release', '17', ...places]
}
