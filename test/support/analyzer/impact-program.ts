import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Random } from '../differential/random.ts'

/** A generated class: texts of its members that a mutation can replace. */
interface GeneratedClass {
  readonly name: string
  readonly superName: string | undefined
  constant: number
  /** Initial value of the static field. */
  initial: string
  /** Body of each method by its declaration; an absent body removes the method. */
  readonly methods: Map<string, string>
}

const CLASSES = 8
/** The tests of the last one use no class that a mutation can change. */
const TEST_CLASSES = 4
const M = 'public int m(int x)'
const STATIC = 'public static int s(int x)'
const TO_STRING = '@Override public String toString()'

/**
 * A generated Java program with tests. Code of a class calls only classes before it, directly, through an
 * interface, a lambda, the JDK, static fields and constants.
 */
export class ImpactProgram {
  readonly #random: Random
  readonly #classes: GeneratedClass[] = []
  readonly #tests: string[][] = []

  constructor(random: Random) {
    this.#random = random
    for (let at = 0; at < CLASSES; at++) {
      const superName = at > 0 && random.chance(0.5) ? `C${random.below(at)}` : undefined
      const methods = new Map([[STATIC, this.#expression(at)]])
      if (superName === undefined || random.chance(0.5)) methods.set(M, this.#expression(at))
      if (random.chance(0.5)) methods.set(TO_STRING, `"c" + (${this.#expression(at)})`)
      this.#classes.push({
        name: `C${at}`,
        superName,
        constant: random.below(1000),
        initial: this.#expression(at),
        methods,
      })
    }
    for (let at = 1; at < TEST_CLASSES; at++)
      this.#tests.push(Array.from({ length: 4 }, () => this.#expression(CLASSES)))
    this.#tests.push(['x + 1'])
  }

  /** Changes one thing at random and describes it. */
  mutate(random: Random): string {
    const changed = random.pick(this.#classes)
    const { name, methods } = changed
    const kind = random.below(6)
    if (kind === 0) changed.constant += 1
    else if (kind === 1) changed.initial = `1 + (${changed.initial})`
    else if (kind === 2 && changed.superName !== undefined && methods.delete(M)) return `${name} without m`
    else if (kind === 3 && !methods.has(TO_STRING)) methods.set(TO_STRING, '"new" + 1')
    else if (kind === 4 && methods.delete(TO_STRING)) return `${name} without toString`
    else {
      const method = random.pick([...methods.keys()])
      const body = methods.get(method) ?? ''
      methods.set(method, method === TO_STRING ? `"x" + ${body}` : `7 + (${body})`)
      return `${name}: ${method}`
    }
    return `${name}: mutation ${kind}`
  }

  /** Writes the source files of a Maven project. */
  write(root: string): void {
    const source = (path: string, text: string): void => {
      const file = join(root, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    source('pom.xml', '<project/>')
    source(
      'src/main/java/gen/Measured.java',
      'package gen;\npublic interface Measured {\n  int m(int x);\n}\n',
    )
    for (const { name, superName, constant, initial, methods } of this.#classes) {
      const members = [...methods].flatMap(([method, body]) => [
        '',
        `  ${method} {`,
        method === TO_STRING ? '    int x = 3;' : '    x = x & 1023;',
        `    return ${body};`,
        '  }',
      ])
      const lines = [
        'package gen;',
        '',
        `/** Generated. */`,
        `public class ${name}${superName === undefined ? '' : ` extends ${superName}`} implements Measured {`,
        `  public static final int K = ${constant};`,
        `  public static int F = start();`,
        '',
        '  private static int start() {',
        '    int x = 5;',
        `    return ${initial};`,
        '  }',
        ...members,
        '}',
        '',
      ]
      source(`src/main/java/gen/${name}.java`, lines.join('\n'))
    }
    for (const [at, bodies] of this.#tests.entries()) {
      const tests = bodies.flatMap((body, number) => [
        `  @org.junit.jupiter.api.Test`,
        `  public void t${number}() {`,
        `    int x = base;`,
        `    Main.put("gen.T${at}", "t${number}", ${body});`,
        '  }',
        '',
      ])
      const lines = [
        'package gen;',
        '',
        `public class T${at} {`,
        '  private int base;',
        '',
        '  @org.junit.jupiter.api.BeforeEach',
        '  public void prepare() {',
        `    base = ${at < this.#tests.length - 1 ? `C${at}.s(2)` : '2'};`,
        '  }',
        '',
        ...tests,
        '}',
        '',
      ]
      source(`src/test/java/gen/T${at}.java`, lines.join('\n'))
    }
    source('src/test/java/gen/Main.java', MAIN)
    for (const name of ['Test', 'BeforeEach'])
      source(`src/test/java/org/junit/jupiter/api/${name}.java`, annotation(name))
  }

  /** Returns an expression of type int that uses `x` and classes before a class. */
  #expression(before: number, depth = 0): string {
    const random = this.#random
    if (before === 0 || depth > 2 || random.chance(0.1)) return `x + ${random.below(100)}`
    const used = `C${random.below(before)}`
    const inner = (): string => this.#expression(before, depth + 1)
    return random.pick([
      () => `new ${used}().m(${inner()})`,
      () => `((Measured) new ${used}()).m(x) + ${inner()}`,
      () => `${used}.s(${inner()})`,
      () => `${used}.F + ${inner()}`,
      () => `${used}.K * 3 + x`,
      () => `String.valueOf(new ${used}()).hashCode()`,
      () => `((java.util.function.IntUnaryOperator) new ${used}()::m).applyAsInt(${inner()})`,
      () => `((java.util.function.IntSupplier) () -> ${used}.s(2)).getAsInt() + ${inner()}`,
    ])()
  }
}

const MAIN = `package gen;

import java.lang.reflect.Method;

public class Main {
  static void put(String test, String name, int value) {
    System.out.println(test + "#" + name + "=" + value);
  }

  public static void main(String[] names) throws Exception {
    for (String name : names) {
      Class<?> type = Class.forName(name);
      for (Method method : type.getMethods())
        if (method.isAnnotationPresent(org.junit.jupiter.api.Test.class)) {
          Object test = type.getConstructor().newInstance();
          type.getMethod("prepare").invoke(test);
          method.invoke(test);
        }
    }
  }
}
`

function annotation(name: string): string {
  return `package org.junit.jupiter.api;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Retention(RetentionPolicy.RUNTIME)
public @interface ${name} {}
`
}

/** Compiles the sources of a project into its class folders. */
export function compile(root: string): void {
  for (const [set, folder] of [
    ['main', 'classes'],
    ['test', 'test-classes'],
  ] as const) {
    const out = join(root, 'target', folder)
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    execFileSync(
      'sh',
      [
        '-c',
        `javac -nowarn -d "$1" -cp "$2" $(find "$3" -name '*.java')`,
        'sh',
        out,
        join(root, 'target/classes'),
        join(root, 'src', set, 'java'),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
  }
}

/** Runs the tests of a compiled program; returns the result of each. */
export function results(root: string): ReadonlyMap<string, string> {
  const names = Array.from({ length: TEST_CLASSES }, (_, at) => `gen.T${at}`)
  const path = [join(root, 'target/classes'), join(root, 'target/test-classes')].join(':')
  // Equal identity hashes, which `toString` of objects shows; HotSpot's depend on all earlier ones.
  const options = ['-Xshare:auto', '-XX:+UnlockExperimentalVMOptions', '-XX:hashCode=2']
  const output = execFileSync('java', [...options, '-cp', path, 'gen.Main', ...names], { encoding: 'utf8' })
  return new Map(
    output
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  )
}
