import { describe, onTestFinished, test } from 'vitest'
import { startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { mavenProject } from '../../support/analyzer/maven-project.ts'
import { startContent } from '../../support/content/content-server.ts'
import { expectConformance, VERSION } from '../../support/foreign/schemathesis.ts'
import { freePort } from '../../support/services/free-port.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'

const project = mavenProject()

describe(`schemathesis ${VERSION}`, () => {
  test('supervisor', async () => {
    const web = { cmd: 'echo ready; sleep 1000', proxy: { port: await freePort() } }
    const { url } = await startSupervisor({ web }, { proxy: { enabled: true, port: 0 } })
    await expectConformance('supervisor', url)
  })

  test('content server', async () => {
    const page = '<!doctype html><title>Guide</title><h1>Start</h1><p>words'
    const { url, cookie } = await startContent({ 'repos/guide/index.html': page })
    await expectConformance('content', url, '-H', `cookie: ${cookie}`)
  })

  test('analyzer', async () => {
    const server = await startAnalyzer(project.root)
    onTestFinished(server.stop)
    await expectConformance('analyzer', server.url, '-H', `authorization: Bearer ${server.token}`)
  })
})
