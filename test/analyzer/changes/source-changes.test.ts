import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { changedLines } from '../../../src/analyzer/changes/changed-lines.ts'
import { constantUses, sourceChanges } from '../../../src/analyzer/changes/source-changes.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Creates a repository with one commit. */
function repository(files: Readonly<Record<string, string>>): string {
  const root = join(tempDir(), 'project')
  write(root, files)
  git(root, 'init', '-q')
  git(root, 'add', '-f', '.')
  git(root, '-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '-q', '-m', 'old')
  return root
}

function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

function git(root: string, ...argv: readonly string[]): void {
  execFileSync('git', argv, { cwd: root, stdio: 'ignore' })
}

describe('changes since a revision', () => {
  test('are changed, new and removed source files, committed or not', async () => {
    const root = repository({
      'src/A.java': 'class A {\n  int a;\n}\n',
      'src/B.java': 'class B {}\n',
      'src/C.java': 'class C {}\n',
      'build/Kept.java': 'class Kept {}\n',
      'notes.txt': 'old\n',
    })
    write(root, {
      'src/A.java': 'class A {\n  int b;\n}\n',
      'src/D.java': 'class D {}\n',
      'notes.txt': 'new\n',
    })
    rmSync(join(root, 'src/C.java'))
    expect((await sourceChanges(root, 'HEAD')).files).toEqual([
      { path: 'src/A.java', lines: [[2, 2]] },
      { path: 'src/D.java' },
      { path: 'src/C.java', isRemoved: true },
    ])
  })

  test('are relative to a project in a folder of the repository', async () => {
    const root = repository({ 'module/src/A.java': 'class A {}\n', 'other/B.java': 'class B {}\n' })
    write(root, { 'module/src/A.java': 'class A { int a; }\n' })
    expect((await sourceChanges(join(root, 'module'), 'HEAD')).files).toEqual([
      { path: 'src/A.java', lines: [[1, 1]] },
    ])
  })

  test.each(['missing', '--output=x', ':(exclude)', '-h'])('refuse the revision %j', async (revision) => {
    const root = repository({ 'src/A.java': 'class A {}\n' })
    await expect(sourceChanges(root, revision)).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    expect(existsSync(join(root, 'x'))).toBe(false)
  })

  test('need a repository', async () => {
    await expect(sourceChanges(tempDir(), 'HEAD')).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining('not a git repository'),
    })
  })

  test('are found by a few processes in many files of any content and size', { tags: ['long'] }, async () => {
    const odd = ['', '\n', 'ü日🎉'.repeat(100), `\n${'a'.repeat(40)} blob 3\n`, '\0\u0001']
    const large = '// comment\n'.repeat(400_000)
    const old = Object.fromEntries([
      ...Array.from({ length: 60 }, (_, i) => [`src/A${i}.java`, `class A {\n${odd[i % 5]}\n}\n`]),
      ...Array.from({ length: 5 }, (_, i) => [`src/Big${i}.java`, large.slice(0, 3 * 2 ** 20 - i)]),
      ['src/Huge.java', large],
      ['src/Latin.java', 'class Latin {}\n'],
    ])
    const root = repository(old)
    writeFileSync(join(root, 'src/Latin.java'), Buffer.from('class Latin { String a = "\xe9"; }\n', 'latin1'))
    git(root, '-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '-q', '-a', '-m', 'latin')
    for (const path of Object.keys(old)) write(root, { [path]: `int added;\n${old[path]}` })
    write(root, { 'src/Huge.java': 'class Huge {}\n', 'src/Latin.java': 'class Latin {}\n' })
    const [bin, calls] = [tempDir(), join(tempDir(), 'calls')]
    const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim()
    writeFileSync(join(bin, 'git'), `#!/bin/sh\necho >> '${calls}'\nexec '${real}' "$@"\n`, { mode: 0o755 })
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { files } = await sourceChanges(root, 'HEAD')
    expect(files.map(({ path }) => path).toSorted()).toEqual(Object.keys(old).toSorted())
    for (const { path, lines } of files)
      if (path.includes('/A')) expect([path, lines]).toEqual([path, [[1, 1]]])
    expect(files.find(({ path }) => path === 'src/Huge.java')?.lines).toBeUndefined()
    expect(files.find(({ path }) => path === 'src/Latin.java')?.lines).toEqual([[1, 1]])
    // Two for the list of files, one for sizes, and one for each 8 MiB or file that is too large.
    expect(readFileSync(calls, 'utf8').length).toBeLessThan(12)
  })

  test('start nothing that the repository configures', async () => {
    const root = repository({
      '.gitattributes': '*.java filter=evil diff=evil merge=evil\n',
      'src/A.java': 'class A {}\n',
      'src/B.java': 'class B {}\n',
    })
    const mark = join(root, 'started')
    const program = join(root, 'evil.sh')
    writeFileSync(program, `#!/bin/sh\necho "$@" >> '${mark}'\nexit 1\n`, { mode: 0o755 })
    const settings = {
      'core.fsmonitor': program,
      'core.hooksPath': root,
      'core.sshCommand': program,
      'core.pager': program,
      'core.askPass': program,
      'core.gitProxy': program,
      'core.editor': program,
      'diff.external': program,
      'diff.evil.command': program,
      'diff.evil.textconv': program,
      'filter.evil.clean': program,
      'filter.evil.smudge': program,
      'filter.evil.process': program,
      'alias.ls-tree': `!${program}`,
      'alias.cat-file': `!${program}`,
      'pager.cat-file': program,
      'pager.ls-tree': program,
      'remote.origin.url': `ext::${program}`,
      'remote.origin.uploadpack': program,
      'remote.origin.promisor': 'true',
      'protocol.ext.allow': 'always',
      'protocol.file.allow': 'always',
      'extensions.partialClone': 'origin',
    }
    git(root, 'config', 'core.repositoryFormatVersion', '1')
    for (const [key, value] of Object.entries(settings)) git(root, 'config', key, value)
    write(root, { 'src/A.java': 'class A { int a; }\n' })
    expect((await sourceChanges(root, 'HEAD')).files).toEqual([{ path: 'src/A.java', lines: [[1, 1]] }])
    // An object that is missing would be fetched from the remote.
    const id = execFileSync('git', ['hash-object', '--no-filters', 'src/B.java'], {
      cwd: root,
      encoding: 'utf8',
    })
    rmSync(join(root, '.git/objects', id.slice(0, 2), id.trim().slice(2)))
    write(root, { 'src/B.java': 'class B { int b; }\n' })
    rmSync(mark, { force: true })
    await expect(sourceChanges(root, 'HEAD')).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    expect(existsSync(mark)).toBe(false)
  })
})

describe('changed lines', () => {
  const old = ['package a;', 'import b.B;', 'class A {', '  int a() {', '    return 1;', '  }', '}', '']

  /** Returns the changed ranges if one line is replaced by others. */
  function replaced(at: number, ...lines: readonly string[]) {
    return changedLines('A.java', old.join('\n'), old.toSpliced(at - 1, 1, ...lines).join('\n'))
  }

  test.each([
    ['replaced', replaced(5, '    return 2;'), [[5, 5]]],
    ['added', replaced(5, '    a();', '    return 1;'), [[5, 5]]],
    ['removed, as an empty range', replaced(5), [[5, 4]]],
    ['a comment', replaced(5, '    return 1; // one'), []],
    ['a comment of several lines', replaced(5, '    /* a', '     * b */', '    return 1;'), [[5, 6]]],
    ['white space', replaced(5, '\treturn 1;\r'), []],
    ['an import that nothing else names', replaced(2, 'import b.B;', 'import b.C;'), [[3, 3]]],
    ['a string that looks like a comment', replaced(5, '    return f("// a");'), [[5, 5]]],
  ])('are %s', (_what, found, expected) => {
    expect(found).toEqual(expected)
  })

  test('include declarations that can have been removed beside replaced lines', () => {
    const now = old.toSpliced(3, 2, '  int b() {').join('\n')
    expect(changedLines('A.java', old.join('\n'), now)).toEqual([
      [4, 3],
      [4, 4],
      [5, 4],
    ])
  })

  test('are everything if there are too many', { tags: ['long'] }, () => {
    const many = (letter: string) => Array.from({ length: 5_000 }, (_, at) => `${letter}${at};`).join('\n')
    expect(changedLines('A.java', many('a'), many('b'))).toBeUndefined()
  })
})

test('lines that use a constant are found, without comments and imports', () => {
  const root = tempDir()
  write(root, {
    'src/A.java': 'import static a.B.MAX;\nclass A {\n  // MAX\n  int a = MAX + 1;\n  int MAXIMUM = 2;\n}\n',
    'src/B.java': 'class B {}\n',
  })
  expect(constantUses(root, ['MAX'])).toEqual([{ path: 'src/A.java', lines: [[4, 4]] }])
})
