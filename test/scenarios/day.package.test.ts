import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { answers } from '../support/answers.ts'
import { freePort } from '../support/services/free-port.ts'
import { startCredentialsHost } from '../support/workspace/guest/credentials-host.ts'
import { docker, leftovers, removeLeftovers, TEST_IMAGE, uniqueName } from '../support/engine/docker.ts'
import { installPackage, ran } from '../support/package/installed.ts'
import { startMoto } from '../support/services/moto.ts'
import { npmStart } from '../support/package/npm-start.ts'
import { makeTempDir, tempDir } from '../support/temp-dir.ts'
import { blocksOf, runTranscript, type Stage, writeBlock } from '../support/transcript.ts'
import { testKernel } from '../support/vm/vm-parts.ts'
import { waitFor } from '../support/wait-for.ts'
import { userEnvironment } from '../support/workspace/client/workspace-cli.ts'

const { path: folder, remove } = makeTempDir()
const app = join(folder, 'app')
afterAll(remove)

/** Copies an example's folder with the installed package, as its Dockerfile expects. */
function contextOf(example: string): string {
  const context = join(folder, example)
  cpSync(join(packageRoot, 'examples', example), context, {
    recursive: true,
    filter: (path) => !path.endsWith('/app'),
  })
  return context
}

describe('in containers and machines', () => {
  beforeAll(() => installPackage(app, inject('archive'), '24'), 600_000)

  test('the supervisor is the first process of a container, with the content server under it', async () => {
    const context = contextOf('docs-host')
    await ran(['cp', '-al', app, context])
    const name = uniqueName('docs-host')
    onTestFinished(async () => {
      await run('docker', ['rm', '--force', name])
      await run('docker', ['rmi', name])
    })
    await docker('build', '--quiet', '--tag', name, '--build-arg', `BASE=${TEST_IMAGE}`, context)
    const port = await freePort()
    await docker('run', '--detach', '--name', name, '--publish', `127.0.0.1:${port}:8090`, name)
    const url = `http://localhost:${port}`
    await waitFor('the documentation', () => answers(`${url}/_health`), 60_000)
    expect(await docker('exec', name, 'cat', '/proc/1/cmdline')).toContain('supervisor')
    expect((await fetch(`${url}/repos/guide/`, { redirect: 'manual' })).status).toBe(302)
    await docker('stop', '--time', '20', name)
    expect(await docker('inspect', '--format', '{{.State.ExitCode}}', name)).toBe('0')
  })

  test(
    'the day’s work in docs/tour.md runs as written and leaves nothing',
    { timeout: 900_000, tags: ['long'] },
    async () => {
      const blocks = blocksOf('docs/tour.md')
      const [config] = blocks.filter(({ language }) => language === 'yaml')
      const [inContainer, inMachine, evening, ...others] = blocks.filter(
        ({ language }) => language === 'console',
      )
      if (config === undefined || !inContainer || !inMachine || !evening)
        throw new Error('docs/tour.md lacks a part of the day')
      expect(others).toEqual([])

      const [dev, release, image] = ['shop-dev', 'shop-release', 'shop-tools'].map(uniqueName) as [
        string,
        string,
        string,
      ]
      onTestFinished(async () => {
        await removeLeftovers(dev)
        await run('docker', ['rmi', '--force', image])
      })
      const context = contextOf('shop')
      await buildImage(context, image)

      const moto = await startMoto()
      onTestFinished(moto.stop)
      await moto.makeBucket('shop-docs')
      const store = (host: string) =>
        `{ type: s3, bucket: shop-docs, endpoint: 'http://${host}:${new URL(moto.url).port}', force_path_style: true }`
      const docs = readFileSync(join(context, 'docs.yaml'), 'utf8')
      const place = '{ type: s3, bucket: shop-docs }'
      expect(docs).toContain(place)
      // This machine's address in QEMU's user network.
      writeFileSync(join(context, 'docs.yaml'), docs.replace(place, store('10.0.2.2')))

      const state = tempDir()
      const sockets = mkdtempSync('/tmp/vm-')
      onTestFinished(() => rmSync(sockets, { recursive: true }))
      const kernel = testKernel()
      const user = userEnvironment({ npm_config_progress: 'false', WORKSPACE_STATE_DIR: state })
      const stage: Stage = {
        cwd: packageRoot,
        environment: user,
        stands: [
          ['shop-dev', dev],
          ['shop-release', release],
          ['shop-tools', image],
          ['examples/shop/', `${context}/`],
        ],
        settles: /supervisor ps|list -vv/,
        varies: [
          [/\b10\.214\.\d+\.\d+/, 'ADDRESS'],
          [/, process \d+/, ', process PID'],
          [/running  \d+  AGE/, 'running  PID  AGE'],
          [/\b\d[\d.]* (?:B|[KMG]iB)\b/g, 'SIZE'],
          [/(stopped\)|TOTAL)  \d+/, '$1  FILES'],
          [/stopped for \d+s/, 'stopped for AGE'],
          // AWS's SDK prints this if an emulated machine takes over a second to get credentials.
          [/^@smithy\/node-http-handler - \[WARN\] a request has exceeded.*\n/m, ''],
        ],
      }
      writeBlock(config, stage)
      const server = await npmStart({
        ...user,
        WORKSPACE_IMAGE__KERNEL: kernel.file,
        WORKSPACE_IMAGE__MODULES: kernel.modules,
        WORKSPACE_QEMU__ACCEL: 'tcg',
        WORKSPACE_VM__NETWORK: 'user',
        // The cloud runs on this machine.
        WORKSPACE_NETWORK__ALLOW_HOST_PORTS: new URL(moto.url).port,
        WORKSPACE_VM__RUN_DIR: sockets,
        WORKSPACE_VM__CPUS: '1',
        WORKSPACE_VM__MEMORY_MB: '1024',
      })
      const host = await startCredentialsHost(tempDir(), server.url, moto.url, {
        workspaces: { [release]: { role: 'arn:aws:iam::123456789012:role/publish-docs' } },
      })
      onTestFinished(host.stop)
      const running: Stage = { ...stage, environment: { ...user, WORKSPACE_URL: server.url } }

      await runTranscript(inContainer, running)
      expect(moto.stsCalls()).toBe(0)
      // In an emulated processor credentials take over a second, of which the cloud's SDK warns.
      await runTranscript(inMachine, { ...running, slow: /^@smithy\/node-http-handler - \[WARN\] / })
      expect(moto.stsCalls()).toBe(1)

      writeFileSync(join(context, 'docs.yaml'), docs.replace(place, store('127.0.0.1')))
      const port = await serveDocs(context, user)
      await runTranscript(evening, {
        ...running,
        stands: [
          ...running.stands,
          ['cookies', join(folder, 'cookies')],
          ['localhost:8090', `localhost:${port}`],
        ],
      })

      await server.end('SIGTERM')
      expect(await leftovers(dev)).toEqual([])
      expect(readdirSync(join(state, 'qemu', 'instances'))).toEqual([])
      expect(readdirSync(join(state, 'qemu', 'uppers'))).toEqual([])
      expect((await run('pgrep', ['--full', state])).stdout).toBe('')
    },
  )
})

/** Builds the example's image with Maven's dependencies included, because containers here may have no network. */
async function buildImage(context: string, image: string): Promise<void> {
  const repository = join(context, 'repository')
  const project = join(folder, 'built')
  cpSync(context, project, { recursive: true })
  await ran(['mvn', '-B', '-ntp', '-q', '-f', project, `-Dmaven.repo.local=${repository}`, 'package'])
  appendFileSync(
    join(context, 'Dockerfile'),
    'COPY --chown=1000:1000 repository /home/workspace/.m2/repository\n',
  )
  await ran(['cp', '-al', app, context])
  await docker('build', '--quiet', '--tag', image, context)
  rmSync(repository, { recursive: true })
  rmSync(join(context, 'app'), { recursive: true })
}

/** Runs the content server beside the shop as its user until the test ends; returns its port. */
async function serveDocs(cwd: string, user: NodeJS.ProcessEnv): Promise<number> {
  const port = await freePort()
  const program = join(packageRoot, 'node_modules/.bin/content-server')
  const child = spawn(program, ['-c', 'docs.yaml', 'serve', '--port', String(port)], {
    cwd,
    env: { ...user, AWS_ACCESS_KEY_ID: 'READER', AWS_SECRET_ACCESS_KEY: 'its secret' },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  await waitFor('the content server', () => answers(`http://localhost:${port}/_health`))
  return port
}
