import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { readLoginEnvironment } from '../../../src/workspace/backend/login-environment.ts'
import { BACKENDS, createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { uniqueName } from '../../support/engine/docker.ts'

for (const { kind, make, isVariant } of BACKENDS.filter(({ isReal }) => isReal))
  describe(`the login of the ${kind} backend`, { tags: isVariant === true ? ['long'] : [] }, () => {
    let backend: Backend
    const name = uniqueName('login')
    const asRoot = async (script: string) => {
      const { status, stdout, stderr } = await outputOf(backend, name, { ...sh(script), user: '0' })
      expect([status, stderr]).toEqual([0, ''])
      return stdout
    }
    /** Reads the login environment as if the workspace had this name. */
    const read = (called: string) =>
      readLoginEnvironment(called, (argv, user) =>
        backend.exec(name, { argv, stdin: false, ...(user !== undefined && { user }) }),
      )

    beforeAll(async () => {
      backend = await make()
      await backend.open(() => undefined)
      await createIn(backend, name)
      await asRoot('cp /etc/passwd /root/passwd')
    })
    beforeEach(async () => {
      await asRoot('rm -f /etc/passwd; cp /root/passwd /etc/passwd')
    })
    afterAll(async () => {
      await backend.remove(name, false)
      await backend.close()
    })

    test("the workspace's name is a second name of its user", async () => {
      const { user, home } = await backend.loginEnvironment(name)
      const asked = `echo ~${name}; id -u ${name}; id -g ${name}; id -un`
      const numbers = await outputOf(backend, name, sh('id -u; id -g'))
      const { stdout } = await outputOf(backend, name, sh(asked))
      expect(stdout).toBe(`${home}\n${numbers.stdout}${user}\n`)
    })

    test('the entry is added once', async () => {
      await Promise.all([read('twin'), read('another')])
      await read('twin')
      expect(await asRoot('grep -c ^twin: /etc/passwd; grep -c ^another: /etc/passwd')).toBe('1\n1\n')
    })

    test('an unterminated last line stays a separate line', async () => {
      await asRoot('printf "last:*:77:77::/last:/bin/sh" >>/etc/passwd')
      const before = await asRoot('cat /etc/passwd')
      await read('twin')
      expect(await asRoot('cat /etc/passwd')).toMatch(
        new RegExp(`^${before.replaceAll('*', '\\*')}\ntwin:.*\n$`),
      )
      await asRoot('printf "%s" "$(cat /etc/passwd)" >/root/cut; cp /root/cut /etc/passwd')
      await read('twin')
      expect(await asRoot('grep -c ^twin: /etc/passwd')).toBe('1\n')
    })

    test.each([
      ['a user whom the image has', 'root'],
      ['a number', '0'],
      ['a number that nobody has', '4321'],
    ])('a workspace named %s changes nothing', async (_what, called) => {
      const before = await asRoot('cat /etc/passwd')
      await read(called)
      expect(await asRoot('cat /etc/passwd')).toBe(before)
    })

    test.each([
      [
        'a link',
        'mv /etc/passwd /workspace/passwd; ln -s /workspace/passwd /etc/passwd',
        'cat /workspace/passwd',
      ],
      ['nowhere', 'rm /etc/passwd', 'ls /etc/passwd 2>/dev/null || :'],
    ])('with /etc/passwd %s login works and nothing is written', async (_what, prepare, show) => {
      await asRoot(prepare)
      expect(await read('twin')).toMatchObject({ shell: expect.stringMatching(/sh$/) })
      expect(await asRoot(show)).not.toContain('twin')
    })
  })
