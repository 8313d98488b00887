import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jdkClasses, readBuild } from '../../../src/analyzer/diff/build.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { type BuildDiff, diffBuilds } from '../../../src/analyzer/diff/diff-builds.ts'

/** test/fixtures/api-changes.txt explains its format. */
const cases = readFileSync(join(packageRoot, 'test/fixtures/api-changes.txt'), 'utf8')
  .split('\n\n')
  .slice(1)
  .map((paragraph) => {
    const [head = '', old = '', now = '', use = ''] = paragraph.split('\n').map((line) => line.trim())
    const [name = '', expected = ''] = head.split(':')
    const [changes = '', error = ''] = expected.split('=')
    return {
      name,
      changes: changes.split(' ').filter((change) => change !== ''),
      error: error.trim(),
      old,
      now,
      use,
    }
  })

/** Compiles all files at once. */
function javac(out: string, files: Readonly<Record<string, string>>, classPath: string): string {
  const sources = `${out}-sources`
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(sources, file, '..'), { recursive: true })
    writeFileSync(join(sources, file), text)
  }
  mkdirSync(out, { recursive: true })
  const fixed = ['-nowarn', '-XDsuppressNotes', '-implicit:none', '-d', out, '-cp', classPath]
  execFileSync('javac', [...fixed, ...Object.keys(files).map((file) => join(sources, file))], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return out
}

function sourcesOf(which: 'old' | 'now'): Record<string, string> {
  return Object.fromEntries(
    cases.map((each) => [`${each.name}/Api.java`, `package ${each.name}; ${each[which]}`]),
  )
}

function programs(): Record<string, string> {
  return Object.fromEntries(
    cases.map(({ name, use }) => {
      const [body = '', own = ''] = use.split(' // ')
      return [
        `uses/${name}/Use.java`,
        `package uses.${name}; import ${name}.*; public class Use { public static void run() throws Throwable { ${body} } } ${own}`,
      ]
    }),
  )
}

const driver = `public class Driver { public static void main(String[] names) throws Throwable { for (String name : names) {
  String said = "";
  try { Class.forName("uses." + name + ".Use").getMethod("run").invoke(null); }
  catch (java.lang.reflect.InvocationTargetException e) { said = e.getCause().getClass().getSimpleName(); }
  catch (LinkageError e) { said = e.getClass().getSimpleName(); }
  System.out.println(name + " " + said);
} } }`

describe('a change is reported as breaking exactly when the JVM no longer runs the old program', () => {
  const root = mkdtempSync(join(tmpdir(), 'workspace-diff-'))
  afterAll(() => rmSync(root, { recursive: true }))
  let diff: BuildDiff
  let said: ReadonlyMap<string, string>

  beforeAll(async () => {
    const old = javac(join(root, 'old'), sourcesOf('old'), root)
    const now = javac(join(root, 'new'), sourcesOf('now'), root)
    const uses = javac(join(root, 'uses'), { ...programs(), 'Driver.java': driver }, old)
    const out = execFileSync('java', ['-cp', `${now}:${uses}`, 'Driver', ...cases.map(({ name }) => name)], {
      encoding: 'utf8',
    })
    said = new Map(
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' ') as [string, string]),
    )
    const jdk = jdkClasses(undefined, process.env)
    diff = diffBuilds(
      await readBuild(old, jdk.find, jdk.release),
      await readBuild(now, jdk.find, jdk.release),
      false,
    )
  }, 120_000)

  it.each(cases)('$name', ({ name, changes, error }) => {
    const found = diff.changes.filter(({ classFqn }) => classFqn.startsWith(`${name}.`))
    expect(found.map(({ change }) => change).toSorted()).toEqual(changes.toSorted())
    expect(said.get(name)).toMatch(new RegExp(`^(${error})$`))
    expect(
      found.every(({ compatible }) => compatible),
      'verdict',
    ).toBe(error === '')
  })

  it('reports the section of the JLS and the reason, in a stable order', () => {
    for (const { rule, why } of diff.changes) {
      expect(rule).toMatch(/^JLS 13\.\d/)
      expect(why).toMatch(/\w/)
    }
    const keys = diff.changes.map(({ classFqn, member, descriptor }) =>
      [classFqn, member, descriptor].join('\0'),
    )
    expect(keys).toEqual(keys.toSorted())
  })
})
