import { chownSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Backend, BackendChange, ExecRequest } from '../../../src/workspace/backend/backend.ts'
import { WORKSPACE_DIR } from '../../../src/workspace/workspace.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { BACKENDS, createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { leftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../support/temp-dir.ts'

const engines = BACKENDS.filter(({ isVariant, isSlow }) => isVariant !== true || isSlow !== true)

for (const row of engines)
  describe(`the ${row.kind} backend`, { tags: row.isVariant === true ? ['long'] : [] }, () => {
    const { make: makeBackend, isDocker, isReal, isRemote = false, name: backendName } = row
    const rarely = { tags: row.isSlow === true ? ['long'] : [] }
    let backend: Backend
    const changes: BackendChange[] = []
    const shared = uniqueName('shared')
    const output = (name: string, request: ExecRequest) => outputOf(backend, name, request)

    beforeAll(async () => {
      backend = await makeBackend()
      await backend.open((change) => changes.push(change))
      await createIn(backend, shared)
    })
    afterAll(async () => {
      await backend.remove(shared, false)
      await backend.close()
    })

    const make = (name: string, localDir = '') => createIn(backend, name, localDir)
    const makeForTest = async (stem: string, localDir = '') => {
      const name = uniqueName(stem)
      onTestFinished(() => backend.remove(name, false))
      return { name, workspace: await make(name, localDir) }
    }

    test('create reports a running workspace with all its fields', async () => {
      const beganMs = Date.now()
      const { name, workspace } = await makeForTest('fields')
      expect(workspace).toMatchObject({
        name,
        backend: backendName,
        state: { is: 'running' },
        repo: 'https://example.com/r',
        localDir: '',
        forwardPorts: [3000, 8080],
        labels: { team: 'web', 'a/b': 'quo"te = ünïcödé' },
        image: TEST_IMAGE,
        cpus: 1,
        memoryMb: 256,
      })
      expect(workspace.containerId).not.toBe('')
      // An engine may report whole seconds.
      expect(workspace.createdAt.getTime()).toBeGreaterThan(beganMs - 1_000)
      expect(await backend.find(name)).toEqual(workspace)
      expect((await backend.list()).map((each) => each.name)).toContain(name)
    })

    test.runIf(isReal && !isRemote)(
      'a busy program is visible in its workspace’s CPU time and memory',
      rarely,
      async () => {
        const workspace = await backend.find(shared)
        const look = async () =>
          (await backend.loads(workspace === undefined ? [] : [workspace])).get(workspace?.containerId ?? '')
        const before = await look()
        await output(shared, sh('i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'))
        const after = await look()
        expect((after?.cpuMs ?? 0) - (before?.cpuMs ?? 0)).toBeGreaterThan(50)
        expect(after?.memoryBytes).toBeGreaterThan(10_000)
      },
    )

    test.runIf(isDocker)('the log contains the last lines of the container’s main process', async () => {
      const { name } = await makeForTest('log')
      const printed = await output(name, sh('for i in 1 2 3; do echo "line $i" >/proc/1/fd/1; done'))
      expect(printed).toMatchObject({ status: 0 })
      await expect.poll(() => backend.logs(name, 2)).toEqual(['line 2', 'line 3'])
      await backend.stop(name)
      expect(await backend.logs(name, 200)).toEqual(['line 1', 'line 2', 'line 3'])
    })

    test.runIf(isDocker)(
      'a followed log yields last lines, then new ones, until the container stops',
      async () => {
        const { name } = await makeForTest('follow')
        await output(name, sh('for i in 1 2; do echo "line $i" >/proc/1/fd/1; done'))
        await expect.poll(() => backend.logs(name, 2)).toEqual(['line 1', 'line 2'])
        const lines: string[] = []
        const following = (async () => {
          for await (const line of backend.followLogs(name, 1, new AbortController().signal)) lines.push(line)
        })()
        await expect.poll(() => lines).toEqual(['line 2'])
        await output(name, sh('echo "line 3" >/proc/1/fd/1; echo "to stderr" >/proc/1/fd/2'))
        // The engine reads the two streams separately, so their lines may arrive in either order.
        await expect.poll(() => lines.toSorted()).toEqual(['line 2', 'line 3', 'to stderr'])
        await backend.stop(name)
        await following
      },
    )

    test.runIf(isDocker)('a followed log ends when its reader leaves', async () => {
      const { name } = await makeForTest('leave')
      const reader = new AbortController()
      const next = backend.followLogs(name, 1, reader.signal)[Symbol.asyncIterator]().next()
      reader.abort()
      expect((await next.catch(() => ({ done: true }))).done).toBe(true)
    })

    test('stop and start keep the files', rarely, async () => {
      const { name } = await makeForTest('keep')
      expect(await output(name, sh(`echo kept > ${WORKSPACE_DIR}/file`))).toMatchObject({ status: 0 })
      expect(await backend.stop(name)).toMatchObject({ state: { is: 'stopped' } })
      expect(await backend.start(name)).toMatchObject({ state: { is: 'running' } })
      expect(await output(name, sh(`cat ${WORKSPACE_DIR}/file`))).toMatchObject({
        stdout: 'kept\n',
        status: 0,
      })
    })

    test('suspend and start keep the programs, or suspend is refused and the workspace runs on', async () => {
      const { name } = await makeForTest('suspend')
      const { stdout: pid } = await output(name, sh('nohup sleep 600 >/dev/null 2>&1 & echo $!'))
      const refusal = await backend.suspend(name).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (refusal === undefined) {
        expect(await backend.find(name)).toMatchObject({ state: { is: 'suspended' } })
        await backend.start(name)
      } else expect(refusal).toMatchObject({ code: 'SUSPEND_UNSUPPORTED' })
      expect(await backend.find(name)).toMatchObject({ state: { is: 'running' } })
      expect(await output(name, sh(`kill -0 ${pid}`))).toMatchObject({ status: 0 })
    })

    test.skipIf(isRemote)(
      'a fork has the files of a running workspace, which runs on and shares none of them',
      async () => {
        await output(shared, sh(`echo content >${WORKSPACE_DIR}/forked`))
        const name = uniqueName('fork')
        onTestFinished(() => backend.remove(name, false))
        const { forks } = backend
        if (forks === undefined) throw new Error('the backend cannot fork')
        const { signal } = new AbortController()
        const { id, pausedMs } = await forks.take(shared, { children: 1, memory: undefined }, signal)
        expect(pausedMs).toBeGreaterThan(0)
        const request = backendCreate(name, TEST_IMAGE, {
          createdAt: new Date(),
          fork: { origin: id, from: shared },
        })
        await backend.create(request, () => undefined, signal)
        await forks.release(id)
        expect(await backend.find(name)).toMatchObject({ name, forkedFrom: shared, state: { is: 'running' } })
        expect(
          (await output(name, sh(`cat ${WORKSPACE_DIR}/forked; rm ${WORKSPACE_DIR}/forked`))).stdout,
        ).toBe('content\n')
        expect((await output(shared, sh(`cat ${WORKSPACE_DIR}/forked`))).stdout).toBe('content\n')
      },
    )

    test.skipIf(isRemote)(
      'a checkpoint of a running workspace has its files, which a rewind puts back exactly, and others are deleted',
      { tags: ['long'] },
      async () => {
        const { name, workspace } = await makeForTest('rewound')
        const { checkpoints } = backend
        if (checkpoints === undefined) throw new Error('the backend cannot take checkpoints')
        const { signal } = new AbortController()
        const files = `cd ${WORKSPACE_DIR} && cat file; ls -A .; readlink link`
        const before = `cd ${WORKSPACE_DIR} && echo before >file && ln -s /etc/shadow link && : >.hidden`
        expect(await output(name, sh(before))).toMatchObject({ status: 0 })
        const expected = (await output(name, sh(files))).stdout
        const createdAt = new Date('2026-01-02T03:04:05.678Z')
        const label = 'before "$HOME" \\ ünïcödé'
        const first = await checkpoints.take(workspace, { createdAt, reason: 'manual', label }, signal)
        expect(await backend.find(name)).toMatchObject({ state: { is: 'running' } })
        await output(
          name,
          sh(`cd ${WORKSPACE_DIR} && rm link && echo after >file && echo x >-rf && mkdir -p ..more/x`),
        )
        await backend.stop(name)
        const second = await checkpoints.take(
          workspace,
          { createdAt: new Date(), reason: 'rewind', label: '' },
          signal,
        )
        expect(await checkpoints.list(workspace)).toEqual([
          { ...first, id: expect.stringMatching(/^[0-9a-f]{16}$/), createdAt, reason: 'manual', label },
          second,
        ])
        const parts = (await backend.usage()).workspaces.get(name) ?? []
        if (isReal) expect(parts.filter(({ kind }) => kind === 'checkpoint').length).toBeGreaterThan(1)
        // A later workspace of that name has none of them.
        if (isDocker) expect(await checkpoints.list({ name, createdAt: new Date(0) })).toEqual([])
        await checkpoints.restore(workspace, first.id, signal)
        expect((await backend.list()).filter((each) => each.name === name)).toHaveLength(1)
        expect(await backend.find(name)).toMatchObject({
          name,
          image: TEST_IMAGE,
          cpus: 1,
          memoryMb: 256,
          createdAt: workspace.createdAt,
          state: { is: 'stopped' },
        })
        await backend.start(name)
        expect((await output(name, sh(files))).stdout).toBe(expected)
        expect((await output(name, sh('echo $FROM_CREATION'))).stdout).toBe('a = b\n')
        const child = uniqueName('from')
        onTestFinished(() => backend.remove(child, false))
        const origin = await checkpoints.originOf(workspace, first.id)
        const fork = backendCreate(child, TEST_IMAGE, { createdAt: new Date(), fork: { origin, from: name } })
        await backend.create(fork, () => undefined, signal)
        expect((await output(child, sh(files))).stdout).toBe(expected)
        // Back to where it was, and with a checkpoint of a workspace that was rewound.
        await backend.stop(name)
        await checkpoints.restore(workspace, second.id, signal)
        await checkpoints.remove(workspace, second.id)
        await backend.start(name)
        expect((await output(name, sh(`cd ${WORKSPACE_DIR} && cat ./file ./-rf`))).stdout).toBe('after\nx\n')
        expect((await checkpoints.list(workspace)).map(({ id }) => id)).toEqual([first.id])
        await backend.remove(name, false)
        expect(await checkpoints.list(workspace)).toEqual([])
        if (isDocker) expect(await leftovers(name)).toEqual([])
      },
    )

    test('remove deletes the volume unless keepVolume is set', rarely, async () => {
      const { name } = await makeForTest('volume')
      await output(name, sh(`echo kept > ${WORKSPACE_DIR}/file`))
      await backend.remove(name, true)
      expect(await backend.find(name)).toBeUndefined()
      expect(await backend.hasVolume(name)).toBe(true)
      await make(name)
      expect(await output(name, sh(`cat ${WORKSPACE_DIR}/file`))).toMatchObject({ stdout: 'kept\n' })
      await backend.remove(name, false)
      expect(await backend.hasVolume(name)).toBe(false)
      if (isDocker) expect(await leftovers(name)).toEqual([])
    })

    test('remove of a missing workspace does nothing', async () => {
      await backend.remove(uniqueName('absent'), false)
      expect(await backend.find(uniqueName('absent'))).toBeUndefined()
    })

    test.skipIf(isRemote)('a local directory is mounted as the workspace', async () => {
      const directory = tempDir()
      const { name, workspace } = await makeForTest('local', directory)
      expect(workspace.localDir).toBe(directory)
      writeFileSync(join(directory, 'from-host'), 'here')
      expect(await output(name, sh(`cat ${WORKSPACE_DIR}/from-host`))).toMatchObject({ stdout: 'here' })
      await backend.remove(name, false)
      expect(existsSync(join(directory, 'from-host'))).toBe(true)
    })

    test.skipIf(isRemote).each([0, 1000, 4711])(
      'a local directory of user %i is writable and stays that user’s',
      rarely,
      async (uid) => {
        const directory = tempDir()
        chownSync(directory, uid, uid)
        const { name } = await makeForTest('owner', directory)
        expect(await output(name, sh('echo x > inside; cd; pwd; touch at-home'))).toMatchObject({ status: 0 })
        expect(statSync(join(directory, 'inside'))).toMatchObject({ uid, gid: uid })
      },
    )

    test('a change behind the server’s back is reported', async () => {
      const { name, workspace } = await makeForTest('told')
      changes.length = 0
      if (workspace.pid > 0) process.kill(workspace.pid, 'SIGKILL')
      else await backend.stop(name)
      if (backend instanceof FakeBackend) backend.happen(name, { is: 'stopped' })
      await expect.poll(() => changes).toContainEqual(expect.objectContaining({ is: 'changed', name }))
    })

    test('the login environment contains user, home and shell', async () => {
      const login = await backend.loginEnvironment(shared)
      expect(login.shell).toBe('/bin/bash')
      expect(login.home).toMatch(/^\//)
      if (isDocker)
        expect(login).toEqual({
          user: 'workspace',
          userId: 1000,
          home: '/home/workspace',
          shell: '/bin/bash',
        })
    })

    test('usage lists the workspace', async () => {
      expect([...(await backend.usage()).workspaces.keys()]).toContain(shared)
    })
  })
