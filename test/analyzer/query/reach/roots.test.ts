import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { makeTempDir } from '../../../support/temp-dir.ts'

const SPRING = 'org.springframework'

/** Kind, and annotations of methods. */
const ON_METHODS: readonly (readonly [kind: string, names: readonly string[]])[] = [
  [
    'test',
    [
      'org.junit.Test',
      'org.junit.Before',
      'org.junit.jupiter.api.Test',
      'org.junit.jupiter.api.TestFactory',
      'org.junit.jupiter.api.BeforeAll',
      'org.junit.jupiter.params.ParameterizedTest',
      'org.testng.annotations.Test',
      'org.testng.annotations.BeforeMethod',
    ],
  ],
  [
    'spring',
    [
      `${SPRING}.context.annotation.Bean`,
      `${SPRING}.web.bind.annotation.RequestMapping`,
      `${SPRING}.web.bind.annotation.GetMapping`,
      `${SPRING}.scheduling.annotation.Scheduled`,
      `${SPRING}.context.event.EventListener`,
    ],
  ],
  ['jax-rs', ['javax.ws.rs.GET', 'jakarta.ws.rs.POST']],
  ['cdi', ['javax.annotation.PostConstruct', 'jakarta.inject.Inject']],
  ['messaging', [`${SPRING}.kafka.annotation.KafkaListener`]],
  ['javafx', ['javafx.fxml.FXML']],
  ['jpa', ['jakarta.persistence.PrePersist']],
]

/** Kind, and annotations of classes. */
const ON_CLASSES: readonly (readonly [kind: string, names: readonly string[]])[] = [
  ['servlet', ['javax.servlet.annotation.WebServlet', 'jakarta.servlet.annotation.WebFilter']],
  [
    'spring',
    [
      `${SPRING}.stereotype.Component`,
      `${SPRING}.stereotype.Service`,
      `${SPRING}.web.bind.annotation.RestController`,
      `${SPRING}.context.annotation.Configuration`,
      `${SPRING}.boot.autoconfigure.SpringBootApplication`,
    ],
  ],
  ['jax-rs', ['javax.ws.rs.Path', 'jakarta.ws.rs.ext.Provider']],
  ['cdi', ['jakarta.enterprise.context.ApplicationScoped', 'javax.ejb.Stateless']],
  ['service', ['com.google.auto.service.AutoService']],
  ['jpa', ['javax.persistence.Entity', 'jakarta.persistence.Embeddable']],
  ['xml', ['jakarta.xml.bind.annotation.XmlRootElement']],
]

/** Kind, and supertypes: classes, or interfaces with `call()`, which the class implements. */
const SUPERTYPES: readonly (readonly [kind: string, names: readonly string[]])[] = [
  ['test', ['junit.framework.TestCase']],
  ['servlet', ['javax.servlet.Servlet', 'jakarta.servlet.Filter', 'javax.servlet.ServletContextListener']],
  ['spring', [`${SPRING}.boot.CommandLineRunner`]],
  ['javafx', ['javafx.application.Application']],
  ['android', ['android.app.Activity', 'android.content.BroadcastReceiver']],
]

const flat = (table: readonly (readonly [string, readonly string[]])[]) =>
  table.flatMap(([kind, names]) => names.map((name) => ({ kind, name })))

/** Kind of what is not a root. */
const NONE = 'none'

interface Case {
  readonly kind: string
  readonly name: string
  /** Method that only this root reaches. */
  readonly hit: string
}

/** Writes the source of a class below a folder. */
function write(folder: string, fqn: string, declaration: string): string {
  const path = join(folder, `${fqn.replaceAll('.', '/')}.java`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `package ${fqn.slice(0, fqn.lastIndexOf('.'))};\n${declaration}`)
  return path
}

function compile(out: string, files: readonly string[], options: readonly string[] = []): void {
  execFileSync('javac', ['-nowarn', '-d', out, ...options, ...files], { stdio: 'inherit' })
}

const { path: scratch, remove } = makeTempDir()
const cases: Case[] = []
let analyzer: TestAnalyzer

beforeAll(async () => {
  const [stubs, sources] = [join(scratch, 'stubs'), join(scratch, 'sources')]
  const annotation = (fqn: string) =>
    `@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) public @interface ${fqn.slice(fqn.lastIndexOf('.') + 1)} {}`
  const stubFiles = [...new Set([...flat(ON_METHODS), ...flat(ON_CLASSES)].map(({ name }) => name))].map(
    (name) => write(stubs, name, annotation(name)),
  )
  for (const { name } of flat(SUPERTYPES))
    stubFiles.push(
      write(
        stubs,
        name,
        `public abstract class ${name.slice(name.lastIndexOf('.') + 1)} { public void call() {} }`,
      ),
    )
  compile(join(scratch, 'lib'), stubFiles)

  const classes: string[] = []
  const add = (kind: string, name: string, declaration: (id: string, hit: string) => string): void => {
    const id = `C${cases.length}`
    cases.push({ kind, name, hit: `roots.Hits#hit${cases.length}` })
    classes.push(write(sources, `roots.${id}`, declaration(id, `Hits.hit${cases.length - 1}();`)))
  }
  for (const { kind, name } of flat(ON_METHODS))
    add(kind, name, (id, hit) => `class ${id} { @${name} void run() { ${hit} } }`)
  for (const { kind, name } of flat(ON_CLASSES))
    add(kind, name, (id, hit) => `@${name} class ${id} { ${id}() { ${hit} } }`)
  for (const { kind, name } of flat(SUPERTYPES))
    add(kind, name, (id, hit) => `class ${id} extends ${name} { @Override public void call() { ${hit} } }`)
  add('main', 'main method', (id, hit) => `class ${id} { public static void main(String[] args) { ${hit} } }`)
  add('main', 'Java agent', (id, hit) => `class ${id} { public static void premain(String args) { ${hit} } }`)
  add('main', 'main method of Java 25', (id, hit) => `class ${id} { void main() { ${hit} } }`)
  add(NONE, 'instance main method of Java 17', (id, hit) => `class ${id} { void main() { ${hit} } }`)
  add(
    'test',
    'JUnit 3',
    (id, hit) => `class ${id} extends junit.framework.TestCase { public void testIt() { ${hit} } }`,
  )
  add(
    'service',
    'META-INF/services/a.Service',
    (id, hit) => `public class ${id} { public ${id}() { ${hit} } }`,
  )
  add(
    'spring',
    'composed annotation',
    (id, hit) =>
      `@${SPRING}.stereotype.Component @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) @interface ${id}A {} @${id}A class ${id} { ${id}() { ${hit} } }`,
  )
  add(
    'jax-rs',
    'annotation of an interface',
    (id, hit) =>
      `interface ${id}I { @javax.ws.rs.GET void get(); } class ${id} implements ${id}I { public void get() { ${hit} } }`,
  )
  const service = cases.findIndex(({ name }) => name.startsWith('META-INF'))
  const hits = cases.map((_, at) => `static void hit${at}() {}`).join(' ')
  classes.push(write(sources, 'roots.Hits', `class Hits { ${hits} static void never() {} }`))
  const out = join(scratch, 'classes')
  compile(out, classes, ['-cp', join(scratch, 'lib')])
  mkdirSync(join(out, 'META-INF/services'), { recursive: true })
  writeFileSync(join(out, 'META-INF/services/a.Service'), `# providers\nroots.C${service} # the first\n`)
  const instance = join(out, `roots/C${cases.findIndex(({ name }) => name.endsWith('Java 25'))}.class`)
  const bytes = readFileSync(instance)
  bytes.writeUInt16BE(69, 6)
  writeFileSync(instance, bytes)

  const root = projectOf('dead')
  cpSync(out, join(root, 'target/classes'), { recursive: true })
  mkdirSync(join(root, 'lib'))
  execFileSync('jar', ['cf', join(root, 'lib/stubs.jar'), '-C', join(scratch, 'lib'), '.'])
  analyzer = await startAnalyzer(root)
})
afterAll(async () => {
  remove()
  await analyzer.stop()
})

const KINDS = [...new Set([...ON_METHODS, ...ON_CLASSES, ...SUPERTYPES].map(([kind]) => kind)), 'main']

async function reachedFrom(from: string): Promise<ReadonlyMap<string, any>> {
  const to = [...cases.map(({ hit }) => hit), 'roots.Hits#never'].join(',')
  const { targets } = await analyzer.get('/reach', { from, to })
  return new Map(
    targets.filter(({ status }: any) => status === 'reachable').map((each: any) => [each.target, each]),
  )
}

test.each(KINDS)('roots of kind %s are found, and no others', async (kind) => {
  const reached = await reachedFrom(kind)
  const expected = cases.filter((each) => each.kind === kind)
  expect([...reached.keys()].toSorted()).toEqual(expected.map(({ hit }) => hit).toSorted())
  for (const [hit, { root }] of reached) expect(root.kind, hit).toBe(kind)
})

test('all roots together reach every one, and name the reason', async () => {
  const reached = await reachedFrom('auto')
  expect([...reached.keys()]).toEqual(cases.filter(({ kind }) => kind !== NONE).map(({ hit }) => hit))
  const reasonOf = (name: string): string =>
    reached.get(cases.find((each) => each.name === name)?.hit ?? '').root.reason
  expect(reasonOf('org.junit.jupiter.api.Test')).toBe('@org.junit.jupiter.api.Test')
  expect(reasonOf('javax.servlet.Servlet')).toBe('subtype of javax.servlet.Servlet')
  expect(reasonOf('main method')).toBe('main method')
  expect(reasonOf('META-INF/services/a.Service')).toBe('META-INF/services/a.Service')
  expect(reasonOf('composed annotation')).toBe(`@${SPRING}.stereotype.Component`)
})

test('providers of a module are roots', { tags: ['long'] }, async () => {
  const [sources, root] = [join(scratch, 'module'), projectOf('dead')]
  const files = [
    write(sources, 'mod.Service', 'public interface Service {}'),
    write(
      sources,
      'mod.Provider',
      'public class Provider implements Service { public Provider() { Hit.hit(); } }',
    ),
    write(sources, 'mod.Hit', 'class Hit { static void hit() {} }'),
  ]
  writeFileSync(join(sources, 'module-info.java'), 'module mod { provides mod.Service with mod.Provider; }')
  compile(join(root, 'target/classes'), [...files, join(sources, 'module-info.java')])
  const modular = await startAnalyzer(root)
  onTestFinished(() => modular.stop())
  expect((await modular.get('/reach', { from: 'service', to: 'mod.Hit' })).targets).toMatchObject([
    {
      status: 'reachable',
      root: { kind: 'service', classFqn: 'mod.Provider', reason: 'provided by the module' },
    },
  ])
})
