import { harden } from '../../harden.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { checkOperation, credentialErrorToWire, credentialsToWire } from '../../api/credentials.ts'
import { type ExtensionMessage, serveNamespace } from '../../client/serve-namespace.ts'
import { loadWorkspaceConfig, type WorkspaceConfig } from '../../config.ts'
import { stsAssumeRole } from '../../credentials/assume-role.ts'
import { CredentialIssuer } from '../../credentials/issuer.ts'
import { systemClock } from '../../../lib/clock/clock.ts'

const NAMESPACE = 'cloud-credentials'

/** Runs the program `workspace-ext-cloud-credentials-host` until a signal stops it; resolves with its exit status. */
export function runCloudCredentialsHost(argv: readonly string[]): Promise<number> {
  const program = createProgram(
    'workspace-ext-cloud-credentials-host',
    packageVersion(),
    'Issues short-lived cloud credentials to workspaces.',
  )
  program
    .option('--config <file>', "the workspace server's config file (default: WORKSPACE_CONFIG)")
    .action(async ({ config: file }: { config?: string }) => {
      const end = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort())
      const { config } = loadWorkspaceConfig(process.env, { file })
      await harden(config)
      await serveCredentials(config, createLogger(config.log), end.signal)
    })
  return runProgram(program, argv, () => 1)
}

/** Answers credential requests until `signal` aborts. */
async function serveCredentials(
  { cloud, server, bus }: Pick<WorkspaceConfig, 'cloud' | 'server' | 'bus'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (!cloud.isUsed) logger.warn('no workspace has a role; set cloud.default_role or cloud.workspaces')
  const assumeRole = await stsAssumeRole(cloud.sourceProfile, cloud.sessionDurationMs, systemClock)
  const issuer = new CredentialIssuer(cloud, assumeRole, {
    logger,
    clock: systemClock,
  })
  const answer = async ({ payload, workspace }: ExtensionMessage): Promise<unknown> => {
    try {
      checkOperation(payload)
      return credentialsToWire(await issuer.issue(workspace.name))
    } catch (error) {
      if (isFault(error)) return credentialErrorToWire(error)
      throw error
    }
  }
  await serveNamespace(NAMESPACE, answer, {
    server: { ...server, busToken: bus.token, busTokenFile: bus.tokenFile },
    signal,
    onListening: () => logger.info({ url: server.url }, 'issuing cloud credentials'),
    onProblem: (sentence) => logger.warn(sentence),
  })
}
