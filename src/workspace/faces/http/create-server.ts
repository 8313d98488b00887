import type { IncomingMessage } from 'node:http'
import { systemClock } from '../../../lib/clock/clock.ts'
import { type Certificate, createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Secret } from '../../../lib/http/token-rule.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { Type } from '../../../lib/schema/type.ts'
import { CODE_OF_FIELD } from '../../api/create.ts'
import { errorSchema, errorToWire } from '../../api/error.ts'
import { contextSchema } from '../../api/code.ts'
import { CodeContexts } from '../../code/code-contexts.ts'
import { envelopeSchema } from '../../api/bus.ts'
import { checkpointSchema } from '../../api/checkpoint.ts'
import { fileSchema } from '../../api/file.ts'
import { imageSchema } from '../../api/image.ts'
import { processSchema } from '../../api/program.ts'
import { snapshotSchema } from '../../api/snapshot.ts'
import { wireUserSchema } from '../../api/team.ts'
import { workspaceEncoder, workspaceSchema } from '../../api/workspace.ts'
import { fault } from '../../errors.ts'
import type { Explanation } from '../../timeline/timeline.ts'
import type { Workspace } from '../../workspace.ts'
import { subjectOf } from './audit-subject.ts'
import { addBackendMetrics } from './backend-metrics.ts'
import { addBusMetrics } from './bus-metrics.ts'
import { addPhaseMetrics } from './phase-metrics.ts'
import type { HttpFace } from './face.ts'
import { Gate } from './team/gate.ts'
import { SandboxAccess } from './e2b/access.ts'
import { e2bRoutes } from './e2b/e2b-face.ts'
import { E2bHosts } from './e2b/hosts.ts'
import { archiveRoutes } from './routes/archives.ts'
import { checkpointRoutes } from './routes/checkpoints.ts'
import { codeRoutes } from './routes/code.ts'
import { connectRoute } from './routes/connect.ts'
import { egressRoute } from './routes/egress.ts'
import { eventRoute } from './routes/events.ts'
import { busRoutes } from './routes/bus.ts'
import { execRoute, processRoutes } from './routes/programs.ts'
import { fileRoutes } from './routes/files.ts'
import { loginRoutes } from './routes/login.ts'
import { imageRoutes } from './routes/images.ts'
import { insideRoutes } from './routes/inside.ts'
import { PortPasses } from '../../tickets/port-passes.ts'
import { PortHosts } from '../../tunnel/port-host.ts'
import { PortProxy } from './ports/port-proxy.ts'
import { ticketRoute } from './routes/tickets.ts'
import { snapshotRoutes } from './routes/snapshots.ts'
import { infoRoutes } from './routes/info.ts'
import { portRoutes } from './routes/ports.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { systemRoutes } from './routes/system.ts'
import { teamRoutes } from './routes/team.ts'
import { terminalRoute } from './routes/terminal.ts'
import { usageRoute } from './routes/usage.ts'
import { templateRoute } from './routes/templates.ts'
import { workspaceRoutes } from './routes/workspaces.ts'

/** Parts of the server that its HTTP routes use. */
export type FaceParts = Omit<HttpFace, 'gate' | 'encode'>

/** Explains that a running workspace may no longer run. */
function doubtOf(workspace: Workspace, { backends }: FaceParts): Explanation | undefined {
  const backend = backends.get(workspace.backend)
  if (backend === undefined || backend.isAvailable) return undefined
  const why = backend.whyUnavailable ?? `${backend.name} is unavailable`
  const reason = `${why}; ${workspace.state.is} is the last known status`
  return { reason, before: undefined, remedy: 'run "workspace doctor" to see what is missing' }
}

/** Creates the HTTP server of the workspace server, ready to listen. */
export function createWorkspaceHttp(
  given: FaceParts,
  {
    token,
    busToken,
    certificate,
  }: {
    readonly token?: Secret | undefined
    readonly busToken?: Secret | undefined
    readonly certificate?: Certificate | undefined
  },
  logger: Logger,
): HttpServer {
  const refuse = (request: IncomingMessage, workspace: string, code: string): void =>
    given.audit.refuse(subjectOf({ raw: request }, 'api.refuse', workspace), code)
  const gate = new Gate(
    given.access,
    given.uses,
    { token, busToken, hasUsers: given.team !== undefined },
    refuse,
  )
  const encode = workspaceEncoder(
    given.config,
    (each) => given.timeline.explain(each) ?? doubtOf(each, given),
  )
  const face: HttpFace = { ...given, gate, encode }
  const { allowedHosts, portsDomain } = face.config.http
  const hosts = new PortHosts(portsDomain)
  const hasTls = certificate !== undefined
  const contexts = new CodeContexts(face.table, systemClock)
  const e2b = face.config.e2b.enabled
    ? { face, hosts: new E2bHosts(portsDomain), access: new SandboxAccess(token), contexts }
    : undefined
  const passes = new PortPasses(token, face.clock)
  const proxy = new PortProxy({ face, hosts, passes, e2b, gate, hasTls, logger })
  const server = createHttpServer({
    info: {
      title: 'Workspace server',
      version: face.version,
      description: 'Creates, runs and exposes isolated development environments on one host.',
    },
    logger,
    allowedHosts: [...allowedHosts, ...(portsDomain === undefined ? [] : [`*.${portsDomain}`])],
    divert: proxy,
    ...(e2b && { prefixFor: (host) => e2b.hosts.prefixFor(host) }),
    tls: certificate,
    token: gate.requiresToken ? gate.hasToken : undefined,
    admit: gate.admit,
    onUnauthorized: (request) => refuse(request, '', 'UNAUTHORIZED'),
    errors: {
      render: errorToWire,
      schema: Type.Ref('Error'),
      invalidField(field, message) {
        const code = CODE_OF_FIELD.get(field)
        return code === undefined ? undefined : fault(code, message)
      },
    },
  })
  server.app.addSchema(workspaceSchema)
  server.app.addSchema(errorSchema)
  server.app.addSchema(imageSchema)
  server.app.addSchema(snapshotSchema)
  server.app.addSchema(checkpointSchema)
  server.app.addSchema(envelopeSchema)
  server.app.addSchema(processSchema)
  server.app.addSchema(fileSchema)
  server.app.addSchema(wireUserSchema)
  server.app.addSchema(contextSchema)
  infoRoutes(server, face)
  imageRoutes(server, face)
  snapshotRoutes(server, face)
  checkpointRoutes(server, face)
  templateRoute(server, face)
  workspaceRoutes(server, face)
  archiveRoutes(server, face)
  eventRoute(server, face)
  egressRoute(server, face)
  usageRoute(server, face)
  sessionRoutes(server, face)
  connectRoute(server, face)
  ticketRoute(server, face, { hosts, passes, hasTls })
  portRoutes(server)
  insideRoutes(server, face)
  execRoute(server, face)
  fileRoutes(server, face)
  processRoutes(server, face)
  codeRoutes(server, face, contexts)
  terminalRoute(server, face)
  systemRoutes(server, face)
  teamRoutes(server, face)
  loginRoutes(server, face)
  busRoutes(server, face)
  if (e2b !== undefined) e2bRoutes(server, e2b)
  addBusMetrics(server.metrics.registry, face.bus, face.cluster)
  addPhaseMetrics(server.metrics.registry, face.timeline)
  addBackendMetrics(server.metrics.registry, face.lifecycle.troubles)
  return server
}
