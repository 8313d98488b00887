import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { docker, uniqueName } from '../../support/engine/docker.ts'
import { comparable, useBoth } from '../../support/foreign/compare-dev-containers.ts'
import { suiteDir } from '../../support/temp-dir.ts'

const { both, image: base } = useBoth()

/** An image that accepts the server's certificate. */
const image = `${uniqueName('trusting')}:1`
const suite = suiteDir()
let server: Server
let origin = ''

beforeAll(async () => {
  const folder = suite.path
  // Programs on the host and in containers reach it by this address.
  const host = await docker('network', 'inspect', 'bridge', '--format', '{{(index .IPAM.Config 0).Gateway}}')
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const certificate = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const name = ['-addext', `subjectAltName=IP:${host}`, '-subj', '/CN=test']
  await run('openssl', ['req', '-x509', ...certificate, ...name, '-keyout', key, '-out', cert])
  server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    const file = archives.get(request.url?.split('?')[0] ?? '')
    response.writeHead(file === undefined ? 404 : 200).end(file)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  origin = `https://${host}:${(server.address() as AddressInfo).port}`
  const text = `FROM ${base}\nUSER root\nCOPY cert.pem /\nRUN cat /cert.pem >> /etc/ssl/certs/ca-certificates.crt\nUSER workspace\n`
  writeFileSync(join(folder, 'Dockerfile'), text)
  execFileSync('docker', ['build', '-q', '-t', image, folder], {
    env: { ...process.env, DOCKER_BUILDKIT: '0' },
  })
})
afterAll(async () => {
  server.close()
  await run('docker', ['rmi', '-f', image])
})

const archives = new Map<string, Buffer>()

/** Serves a feature until the test ends. Returns its address. */
function serve(id: string, description: object, script: string): string {
  const directory = join(suite.path, id)
  mkdirSync(directory)
  writeFileSync(
    join(directory, 'devcontainer-feature.json'),
    JSON.stringify({ id, version: '1.0.0', name: id, ...description }),
  )
  writeFileSync(join(directory, 'install.sh'), `#!/bin/sh\nset -e\n${script}\n`)
  const path = `/${id}/devcontainer-feature-${id}.tgz`
  archives.set(path, execFileSync('tar', ['-czf', '-', '-C', directory, '.']))
  onTestFinished(() => void archives.delete(path))
  return origin + path
}

describe('features in archives', () => {
  test('are installed as by the official CLI', async () => {
    const options = { version: { type: 'string', default: '1' } }
    const script = 'echo "$(id -un) $VERSION" >> /usr/local/installed'
    const first = serve(
      'first',
      { options, containerEnv: { KIT: '/kit:$FROM_IMAGE' }, postCreateCommand: 'echo 1 > one' },
      script,
    )
    const second = serve('second', { options }, script)
    const content = {
      image,
      features: { [second]: '2', [first]: {}, './.devcontainer/local': {} },
      postCreateCommand: 'cat /usr/local/installed > installed; env > env',
    }
    const local = {
      'local/devcontainer-feature.json': JSON.stringify({ id: 'local', version: '1.0.0', name: 'local' }),
      'local/install.sh': '#!/bin/sh\necho local >> /usr/local/installed\n',
    }
    const place = {
      workspaceFolder: '/workspace',
      workspaceMount: 'source=${localWorkspaceFolder},target=/workspace,type=bind',
    }
    const environment = { NODE_EXTRA_CA_CERTS: join(suite.path, 'cert.pem') }
    const { theirs, ours, warnings } = await both(
      JSON.stringify({ ...place, ...content }),
      local,
      environment,
    )
    const { image: _, ...expected } = comparable(theirs, content)
    expect(theirs.succeeded).toBe(true)
    expect(warnings).toEqual([])
    expect(comparable(ours, content)).toMatchObject(expected)
  })

  test('that are unusable are a warning', async () => {
    archives.set('/devcontainer-feature-bad.tgz', Buffer.from('no archive'))
    archives.set('/devcontainer-feature-empty.tgz', execFileSync('tar', ['-czf', '-', '-T', '/dev/null']))
    archives.set('/devcontainer-feature-large.tgz', Buffer.alloc(16 * 2 ** 20 + 1))
    const names = ['bad', 'empty', 'large', 'none'].map((name) => [
      `${origin}/devcontainer-feature-${name}.tgz?key=s3cret`,
      {},
    ])
    const content = { image, features: Object.fromEntries(names), postCreateCommand: 'echo made > made' }
    const { ours, warnings } = await both(JSON.stringify(content))
    expect([ours.succeeded, ours.files]).toMatchObject([true, { made: 'made\n' }])
    const texts = [
      'incorrect header check',
      'it has no devcontainer-feature.json',
      'the archives of features are larger than 16 MiB',
      'the download failed with status 22',
    ]
    expect(warnings).toEqual(texts.map((text) => expect.stringContaining(text)))
    expect(warnings.join('')).not.toContain('s3cret')
  })
})
