import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { watchFiles } from '../../../src/supervisor/watch/watch-files.ts'
import { sample } from '../../support/rounds.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Runs commands of a shell in a folder. */
function shell(cwd: string, commands: string): void {
  execFileSync('sh', ['-c', commands], { cwd })
}

/** Watches a path below a new folder that commands of a shell have filled. */
function watched(path: string, setup: string, logFile?: string) {
  const dir = tempDir()
  shell(dir, setup)
  const changes: string[] = []
  const warnings: string[] = []
  const spec = processSpec('web', { cwd: dir })
  const watch = { paths: [path], ignore: [], debounceMs: 0 }
  const stop = watchFiles(
    { ...spec, watch, log: { ...spec.log, file: logFile === undefined ? undefined : join(dir, logFile) } },
    { clock: systemClock, warn: (text) => warnings.push(text), onChange: (what) => changes.push(what) },
  )
  onTestFinished(stop)
  return { dir, changes, warnings }
}

/** Path, commands before the watch, and commands of which each changes a watched file. */
type Row = readonly [path: string, setup: string, ...changes: readonly string[]]

const rows: Readonly<Record<string, Row>> = {
  'a folder that is deleted and made again': [
    'dist',
    'mkdir dist; echo 1 > dist/a.js',
    'rm -r dist; mkdir dist; echo 2 > dist/a.js',
    'echo 3 > dist/a.js',
    'mv dist old; mkdir dist; echo 4 > dist/b.js',
    'echo 5 > dist/b.js',
  ],
  'a folder that is moved away and back': [
    'src/**/*.js',
    'mkdir src; echo 1 > src/a.js',
    'mv src away',
    'mv away src',
    'echo 2 > src/a.js',
  ],
  'a folder that is missing at first': [
    'late',
    ':',
    'mkdir -p late/deep; echo 1 > late/deep/x.js',
    'echo 2 > late/deep/x.js',
    'rm -r late',
    'mkdir late; echo 3 > late/y.js',
    'echo 4 > late/y.js',
  ],
  'a pattern below folders that are missing at first': [
    'a/b/**/*.js',
    ':',
    'mkdir -p a/b/c; echo 1 > a/b/c/x.js',
    'echo 2 > a/b/c/x.js',
    'rm -r a',
    'mkdir -p a/b; echo 3 > a/b/x.js',
  ],
  'a file that is missing at first': [
    'late.json',
    ':',
    'echo 1 > late.json',
    'echo 2 > late.json',
    'rm late.json',
  ],
  'a file in a folder that is made again': [
    './dist/a.js',
    'mkdir dist; echo 1 > dist/a.js',
    'rm -r dist',
    'mkdir dist; echo 2 > dist/a.js',
    'echo 3 > dist/a.js',
    'echo 4 > new; mv new dist/a.js',
    'echo 5 > dist/a.js',
  ],
  'a path below a parent that is replaced': [
    'a/b/src',
    'mkdir -p a/b/src; echo 1 > a/b/src/x.js',
    'mv a old',
    'mkdir -p a/b/src; echo 2 > a/b/src/x.js',
    'echo 3 > a/b/src/x.js',
  ],
  'a symbolic link to folders': [
    'current',
    'mkdir one two; echo 1 > one/a.js; echo 1 > two/a.js; ln -s one current',
    'ln -sfn two current',
    'echo 2 > two/a.js',
    'rm -r two; mkdir two; echo 3 > two/a.js',
    'echo 4 > two/a.js',
    'ln -s one new; mv -T new current',
    'echo 5 > one/a.js',
  ],
  'a path that is an empty folder': [
    'current',
    'mkdir one two; ln -s one current',
    'ln -sfn two current',
    'rm -r two',
    'mkdir two',
    'echo 1 > two/a.js',
  ],
  'a symbolic link to files': [
    'current.json',
    'echo 1 > one; echo 1 > two; ln -s one current.json',
    'echo 2 > one',
    'ln -sfn two current.json',
    'echo 3 > two',
    'echo 4 > new; mv new two',
    'rm two',
    'echo 5 > two',
  ],
  'symbolic links in a watched folder': [
    'src',
    'mkdir -p src lib/x; echo 1 > lib/x/a.js; echo 1 > lib/f.js; ln -s ../lib/x src/x; ln -s ../lib/f.js src/f.js',
    'echo 2 > lib/x/a.js',
    'echo 2 > lib/f.js',
    'rm -r lib/x',
    'mkdir lib/x; echo 3 > lib/x/b.js',
    'echo 4 > lib/x/b.js',
  ],
  'links to folders that contain them': [
    'src',
    'mkdir -p src/d other; ln -s .. src/d/up; ln -s ../src other/src; ln -s ../other src/other; ln -s me src/me',
    'echo 1 > src/a.js',
    'echo 2 > src/d/a.js',
    'echo 3 > other/a.js',
  ],
  'a moved tree': [
    'src',
    'mkdir -p src new/d/e; echo 1 > new/d/e/a.js',
    'mv new src/new',
    'echo 2 > src/new/d/e/a.js',
    'mv src/new src/newer',
    'echo 3 > src/newer/d/e/a.js',
  ],
  'Kubernetes’ way of replacing a ConfigMap': [
    'config/app.yaml',
    'mkdir -p config/..1; cd config; echo 1 > ..1/app.yaml; ln -s ..1 ..data; ln -s ..data/app.yaml app.yaml',
    'cd config; mkdir ..2; echo 2 > ..2/app.yaml; ln -s ..2 ..tmp; mv -T ..tmp ..data; rm -r ..1',
    'cd config; mkdir ..3; echo 3 > ..3/app.yaml; ln -s ..3 ..tmp; mv -T ..tmp ..data; rm -r ..2',
  ],
}

test.each(sample(Object.entries(rows), 4))(
  '%s: each change is noticed',
  async (_, [path, setup, ...commands]) => {
    const { dir, changes } = watched(path, setup)
    for (const command of commands) {
      changes.length = 0
      shell(dir, command)
      await waitFor(`a change after ${command}`, () => changes.length > 0)
      expect(changes.join()).toMatch(/ changed$/)
    }
  },
)

test('only watched files count', async () => {
  const { dir, changes } = watched('src', 'mkdir -p src/node_modules src/here out')
  const untilNoticed = async (file: string): Promise<void> => {
    shell(dir, `echo > ${file}`)
    await waitFor(file, () => changes.includes(`${file} changed`))
  }
  shell(dir, 'mkdir -p src/empty src/.git/x; echo 1 > src/.git/x/y; echo 1 > out/a; ln -s nowhere src/link')
  await untilNoticed('src/1')
  shell(dir, 'echo 1 > src/node_modules/a; chmod 700 src; touch src; rmdir src/empty src/here; rm src/link')
  await untilNoticed('src/2')
  expect(changes).toEqual(['src/1 changed', 'src/2 changed'])
})

test('the log file of the process does not count, even through a link', async () => {
  const { dir, changes } = watched('src', 'mkdir src logs; ln -s ../logs src/logs', 'logs/web.log')
  shell(dir, 'echo 1 > logs/web.log; echo 1 > logs/web.log.1')
  shell(dir, 'echo > src/last')
  await waitFor('the last one', () => changes.length > 0)
  expect(changes).toEqual(['src/last changed'])
})

test('a path that does not exist is named', () => {
  const { warnings } = watched('late/**/*.js', ':')
  expect(warnings).toEqual([
    'process "web": "late/**/*.js" does not exist yet; it is watched when it is made',
  ])
})

test('a path may be a link to a folder elsewhere', async () => {
  const dir = tempDir()
  const { changes } = watched('link', `ln -s ${dir} link`)
  shell(dir, 'echo 1 > a')
  await waitFor('a change', () => changes.length > 0)
  expect(changes[0]).toBe(`${join('link', 'a')} changed`)
})
