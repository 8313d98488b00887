import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { forbidden } from '../../scripts/layer-rules.ts'

function runLayers(folder = '.', ...nodeFlags: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...nodeFlags, 'scripts/layers.ts', folder],
    {
      encoding: 'utf8',
    },
  )
  return { status, stdout, lines: stderr.trim().split('\n') }
}

describe('layers', () => {
  const planted = runLayers('test/fixtures/layers')

  const expected: Readonly<Record<string, string>> = {
    'native-imports-nothing-of-src': 'src/native/door.ts',
    'lib-imports-no-program': 'src/lib/log/program.ts',
    'programs-are-strangers': 'src/workspace/session/stranger.ts',
    'subjects-know-no-face': 'src/workspace/session/wire.ts',
    'clients-know-the-api-alone': 'src/workspace/client/print.ts',
    'servers-are-put-together-once': 'src/workspace/faces/http/whole.ts',
    'faces-are-strangers': 'src/workspace/faces/web/command.ts',
    'fastify-only-in-faces': 'src/workspace/image/http.ts',
    'ssh2-only-in-its-room': 'src/workspace/tunnel/ssh.ts',
    'ssh-only-in-faces': 'src/workspace/tunnel/client.ts',
    'commander-only-in-faces': 'src/workspace/credentials/flags.ts',
    'dockerode-only-in-its-backend': 'src/workspace/image/pull.ts',
    'guest-imports-little': 'guest/agent/size.ts',
    'nobody-imports-an-entry': 'src/workspace/bus/start-worker.ts',
    'no-rings': 'src/lib/clock/later.ts',
    'imports-resolve': 'src/analyzer/index/missing.ts',
  }

  test('every rule has a planted violation', () => {
    expect(new Set(forbidden.map((rule) => rule.name))).toEqual(new Set(Object.keys(expected)))
  })

  test.each(Object.entries(expected))('%s reports %s once', (rule, file) => {
    const fired = planted.lines.filter((line) => line.startsWith(`${rule}: `))
    expect(fired.map((line) => line.split(' ')[1])).toEqual([file])
    expect(planted.status).toBe(1)
  })

  test('a cycle of folders is found without a cycle of files, with an import for each step', () => {
    const rings = planted.lines.filter((line) => line.startsWith('no-folder-rings: '))
    expect(rings).toEqual([
      'no-folder-rings: src/content/login/throttle.ts → src/content/session/limits.ts, src/content/session/user.ts → src/content/login/throttle.ts',
    ])
  })

  test(
    'the check fails when dependency-cruiser sees fewer modules than there are files',
    { tags: ['long'] },
    () => {
      // Regression: with TypeScript 7 and without swc it has no parser for .ts, finds no modules and passes.
      const withoutSwc = `import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name.startsWith('@swc/core')) throw new Error(name + ' is absent')
        return next(name, context)
      } })`
      const blind = runLayers(
        'test/fixtures/layers',
        '--import',
        `data:text/javascript,${encodeURIComponent(withoutSwc)}`,
      )
      expect(blind.lines).toContain('not-cruised: src/native/door.ts was not checked by dependency-cruiser')
      expect(blind.stdout).toMatch(/^layers: 0 of \d+ modules/)
      expect(blind.status).toBe(1)
    },
  )

  test('the checkout has no violations', { tags: ['long'] }, () => {
    expect(runLayers()).toMatchObject({ status: 0, lines: [''] })
  })
})
