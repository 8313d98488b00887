import type { HttpServer } from '../../../lib/http/server.ts'
import { formatDuration } from '../../lifecycle/idle-clock.ts'
import { confinementLevel } from '../../../lib/sandbox/confine.ts'
import type { AnalyzerFace } from './face.ts'

const API_VERSION = 'v1'

/** Adds the routes for health, readiness, server information and shutdown. */
export function adminRoutes({ app }: HttpServer, face: AnalyzerFace): void {
  const { analysis, idle, config, address } = face
  app.get('/admin/health', { schema: { summary: 'Report that the server is running' } }, () => ({
    status: 'UP',
    timestamp: new Date().toISOString(),
  }))

  app.get(
    '/admin/ready',
    { schema: { summary: 'Report whether the server can answer queries; 503 until then' } },
    (_request, reply) => {
      const { is } = analysis.state
      const ready = is === 'READY' || is === 'REFRESHING'
      return reply.status(ready ? 200 : 503).send({ ready, status: is, project: face.projectName })
    },
  )

  app.get('/admin/info', { schema: { summary: 'Show the server, its project and its state' } }, () => ({
    version: face.version,
    apiVersion: API_VERSION,
    pid: process.pid,
    projectPath: face.projectPath,
    projectName: face.projectName,
    host: config.server.host,
    port: address.port,
    mode: config.server.mode,
    status: analysis.state.is,
    ...(analysis.progress !== undefined && { progress: analysis.progress }),
    ...(analysis.state.is === 'FAILED' && { reason: analysis.state.reason }),
    ...(face.watch !== undefined && { watch: face.watch.view }),
    confinement: confinementLevel(),
    startedAt: face.startedAt.toISOString(),
    uptime: formatDuration(Date.now() - face.startedAt.getTime()),
    lastActivityAt: idle.lastActivity.toISOString(),
    idleDuration: formatDuration(Date.now() - idle.lastActivity.getTime()),
    idleTimeout: formatDuration(config.server.idleTimeoutMs),
  }))

  app.post(
    '/admin/activity',
    {
      schema: { summary: 'Restart the idle timeout' },
      config: { hasNoEffect: true },
    },
    () => {
      idle.touch()
      return { lastActivityAt: idle.lastActivity.toISOString() }
    },
  )

  app.post('/admin/shutdown', { schema: { summary: 'Stop the server' } }, (_request, reply) => {
    reply.raw.once('close', () => face.shutDown())
    return { status: 'shutting_down' }
  })
}
