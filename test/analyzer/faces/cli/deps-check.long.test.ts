import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { mavenProject, mavenUser } from '../../../support/analyzer/maven-project.ts'
import { tempDir } from '../../../support/temp-dir.ts'

interface Library {
  /** Java source of its only class; the class has the library's package. */
  readonly source?: string
  readonly needs?: readonly string[]
  /** A file in `META-INF/services`. */
  readonly service?: string
}

/** Libraries by name, which is also their package. */
const LIBRARIES: Readonly<Record<string, Library>> = {
  called: { source: 'public class Api { public static void go() {} }' },
  idle: { source: 'public class Api {}' },
  inner: { source: 'public class Api { public static void go() {} }' },
  outer: { source: 'public class Api { public static void go() {} }', needs: ['inner'] },
  tested: { source: 'public class Api { public static void go() {} }' },
  lonely: { source: 'public class Api {}' },
  visible: {
    source:
      '@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) public @interface Api {}',
  },
  hidden: { source: 'public @interface Api {}' },
  discarded: {
    source:
      '@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.SOURCE) public @interface Api {}',
  },
  parameter: { source: 'public class Api {}' },
  generic: { source: 'public class Api {}' },
  thrown: { source: 'public class Api extends Exception {}' },
  literal: { source: 'public class Api {}' },
  constant: { source: 'public class Api { public static final int SIZE = 5; }' },
  foreign: { source: 'public class Api {}' },
  taker: { source: 'public class Api { public static void take(foreign.Api given) {} }', needs: ['foreign'] },
  driver: { source: 'public class Api {}' },
  provider: { source: 'public class Api {}', service: 'java.sql.Driver' },
  processor: { source: 'public class Api {}', service: 'javax.annotation.processing.Processor' },
  started: { source: 'public class Api { public static void go() {} }' },
  starter: { needs: ['started'] },
}
const SCOPES: Readonly<Record<string, string>> = { tested: 'test', lonely: 'test', driver: 'runtime' }
const DECLARED = Object.keys(LIBRARIES).filter((name) => !['inner', 'foreign', 'started'].includes(name))

const MAIN = `package app;
public class Main {
  @visible.Api @hidden.Api @discarded.Api int marked = constant.Api.SIZE;
  java.util.List<generic.Api> list;
  void one(parameter.Api given) throws thrown.Api {}
  Object two() { called.Api.go(); outer.Api.go(); inner.Api.go(); started.Api.go(); taker.Api.take(null); return literal.Api[].class; }
}`
const TESTS = 'package app; public class MainTest { void test() { tested.Api.go(); } }'

const { root: shop } = mavenProject()

const head = '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
const named = (name: string): string =>
  `<groupId>fixture</groupId><artifactId>${name}</artifactId><version>1</version>`
const needs = (names: readonly string[]): string =>
  `<dependencies>${names.map((name) => `<dependency>${named(name)}<scope>${SCOPES[name] ?? 'compile'}</scope></dependency>`).join('')}</dependencies>`
const pomOf = (name: string, names: readonly string[]): string =>
  `${head}${named(name)}${needs(names)}</project>`

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** Compiles for a release that the oldest plugin of Maven can read. */
function compile(to: string, sources: readonly string[], classPath: string): void {
  const argv = ['--release', '8', '-nowarn', '-proc:none', '-d', to, '-cp', classPath, ...sources]
  execFileSync('javac', argv, { stdio: 'pipe' })
}

/** Writes all libraries into a local repository. Returns the folder with their classes. */
function install(repository: string): string {
  const folder = tempDir()
  const classes = join(folder, 'classes')
  const sources = Object.entries(LIBRARIES).flatMap(([name, { source }]) =>
    source === undefined ? [] : [write(join(folder, name, 'Api.java'), `package ${name}; ${source}`)],
  )
  compile(classes, sources, classes)
  for (const [name, { source, needs: names = [], service = 'none' }] of Object.entries(LIBRARIES)) {
    const jar = join(repository, 'fixture', name, '1', `${name}-1.jar`)
    write(jar.replace(/jar$/, 'pom'), pomOf(name, names))
    const files = join(folder, 'files', name)
    write(join(files, service === 'none' ? 'about' : `META-INF/services/${service}`), `${name}.Api\n`)
    const own = source === undefined ? [] : ['-C', classes, name]
    execFileSync('jar', ['cf', jar, ...own, '-C', files, '.'])
  }
  return classes
}

/** Creates a compiled project that declares most of the libraries. */
function createProject(): string {
  const repository = join(tempDir(), 'repository')
  const root = join(tempDir(), 'app')
  mkdirSync(repository)
  // Maven's plugins are in the user's repository; the libraries stay out of it.
  const usual = join(homedir(), '.m2/repository')
  mkdirSync(usual, { recursive: true })
  for (const name of readdirSync(usual)) symlinkSync(join(usual, name), join(repository, name))
  const libraries = install(repository)
  write(join(root, 'pom.xml'), pomOf('app', DECLARED))
  write(join(root, '.mvn/maven.config'), `-Dmaven.repo.local=${repository}\n`)
  const main = write(join(root, 'src/main/java/app/Main.java'), MAIN)
  const tests = write(join(root, 'src/test/java/app/MainTest.java'), TESTS)
  compile(join(root, 'target/classes'), [main], libraries)
  compile(join(root, 'target/test-classes'), [tests], libraries)
  return root
}

/** Findings of Maven's plugin as "kind library". */
function foundByMaven(root: string): readonly string[] {
  const stdout = execFileSync('mvn', ['-B', '-Dstyle.color=never', 'dependency:analyze-only'], {
    cwd: root,
    encoding: 'utf8',
  })
  let kind = ''
  return stdout.split('\n').flatMap((line) => {
    const [, use] = /(Used undeclared|Unused declared) dependencies found/.exec(line) ?? []
    if (use !== undefined) kind = use === 'Used undeclared' ? 'undeclared' : 'unused'
    const [, name] = /^\[WARNING\] +fixture:(\w+):/.exec(line) ?? []
    return name === undefined ? [] : [`${kind} ${name}`]
  })
}

/** Findings of the plugin that `deps check` does not report: class files mention or need these. */
const ONLY_BY_MAVEN = [
  // Javac keeps the class of an inlined constant in the constant pool, where the plugin does not look.
  'unused constant',
  // Its scope states that no class mentions it.
  'unused driver',
]
/** A called method's descriptor mentions it: without it, the call does not compile. */
const ONLY_BY_ANALYZER = ['undeclared foreign']

test(
  'deps check reports what Maven’s plugin reports, except for known differences, each with its reasons',
  { timeout: 300_000 },
  async () => {
    const root = createProject()
    const byMaven = foundByMaven(root)
    const user = mavenUser()
    await user.json('start', '-p', root, '--mode', 'buildtool')
    const check = (...argv: readonly string[]) => user.analyzer('deps', 'check', '-p', root, ...argv)
    const { status, stdout } = await check()
    const { dependencies, ...answer } = JSON.parse(stdout)
    const found = new Map<string, any>(
      dependencies.map((each: any) => [`${each.kind} ${each.coordinates.split(':')[1]}`, each]),
    )
    const expected = byMaven.filter((each) => !ONLY_BY_MAVEN.includes(each))
    expect([...found.keys()].toSorted()).toEqual([...expected, ...ONLY_BY_ANALYZER].toSorted())
    expect(byMaven).toEqual(expect.arrayContaining(ONLY_BY_MAVEN))

    expect(found.get('undeclared inner')).toEqual({
      kind: 'undeclared',
      module: 'fixture:app',
      coordinates: 'fixture:inner:jar:1',
      scope: 'compile',
      broughtBy: 'fixture:outer:jar:1',
      classes: ['app.Main'],
      classCount: 1,
      reasons: [],
    })
    const reasons = [...found].flatMap(([name, each]) =>
      (each.reasons as string[]).map((why) => `${name}: ${why}`),
    )
    expect(reasons.toSorted()).toEqual([
      'undeclared started: fixture:starter:jar:1 has no classes and only brings others',
      'unused discarded: it has annotations with SOURCE retention',
      'unused processor: it has an annotation processor',
      'unused provider: it registers java.sql.Driver',
      'unused starter: it brings fixture:started:jar:1, which classes use',
      'unused starter: it has no classes and only brings others',
    ])
    expect([status, answer]).toEqual([
      1,
      {
        totalCount: 9,
        page: 0,
        pageSize: 50,
        totalPages: 1,
        unusedCount: 6,
        undeclaredCount: 3,
        unexplainedCount: 4,
        moduleCount: 1,
        problem: null,
        notes: [],
        appliedFilter: { of: null },
      },
    ])

    const table = await check('--of', 'undeclared', '--size', '1', '--table')
    expect(table.stdout).toMatch(
      /^fixture:app +undeclared +fixture:foreign:jar:1 +compile +brought by fixture:taker:jar:1, used by app\.Main$/m,
    )
    expect(table.stdout).toContain('page 0 of 0 to 2, 3 in all')

    // Without compiled tests, their dependencies are unknown.
    rmSync(join(root, 'target/test-classes'), { recursive: true })
    await user.json('refresh', '-p', root)
    const unused = JSON.parse((await check('--of', 'unused')).stdout)
    expect(unused.dependencies.filter(({ scope }: any) => scope === 'test')).toEqual([])
    expect(unused.notes).toEqual([
      '1 module checked without test dependencies, because tests are not compiled: fixture:app',
    ])

    // A change of the build is noticed; with everything declared that is used, nothing is found.
    const declared = ['called', 'outer', 'inner', 'started', 'taker', 'foreign', 'parameter']
    const rest = ['visible', 'hidden', 'constant', 'generic', 'thrown', 'literal', 'driver']
    write(join(root, 'pom.xml'), pomOf('app', [...declared, ...rest]))
    await user.json('refresh', '-p', root)
    const clean = await check('--table')
    expect([clean.status, clean.stdout]).toEqual([
      0,
      expect.stringContaining('0 unused and 0 undeclared in 1 module, 0 without explanation'),
    ])

    await user.analyzer('stop', '-p', root)
    await user.json('start', '-p', root, '--mode', 'jar')
    const unknown = await check('--table')
    expect([unknown.status, unknown.stdout]).toEqual([
      4,
      'unknown: which dependencies a project declares is known for Maven only; this class path is from: jar\n',
    ])
  },
)

test(
  'deps check compares each module of a build with its own dependencies',
  { timeout: 600_000 },
  async () => {
    const user = mavenUser()
    await user.json('start', '-p', shop, '--mode', 'buildtool')
    const { status, stdout } = await user.analyzer('deps', 'check', '-p', shop)
    expect(status).toBe(1)
    const { dependencies, moduleCount, notes } = JSON.parse(stdout)
    expect([moduleCount, notes]).toEqual([4, []])
    const found = dependencies.map(({ module, kind, coordinates, reasons }: any) =>
      [module.split(':')[1], kind, coordinates.split(':')[1], reasons.length > 0 ? 'explained' : '']
        .join(' ')
        .trim(),
    )
    expect(found).toEqual([
      'shop-app undeclared spring-context',
      'shop-app undeclared spring-core',
      'shop-app undeclared shop-core',
      'shop-app undeclared shop-model',
      'shop-app unused junit-jupiter explained',
      'shop-app unused shop-web explained',
      'shop-core undeclared spring-beans',
      'shop-core undeclared spring-core',
      'shop-core unused junit-jupiter explained',
      'shop-model undeclared junit-jupiter-api explained',
      'shop-model unused junit-jupiter explained',
      'shop-web undeclared spring-core',
      'shop-web undeclared shop-model',
      'shop-web unused junit-jupiter explained',
    ])
  },
)
