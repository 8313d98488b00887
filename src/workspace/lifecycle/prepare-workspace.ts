import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import type { DevContainer } from '../devcontainer/dev-container.ts'
import type { Feature } from '../devcontainer/features.ts'
import { installationOf } from '../devcontainer/install-feature.ts'
import { makePlacement } from '../devcontainer/make-placement.ts'
import type { LifecycleStep, Preparation } from '../devcontainer/lifecycle-step.ts'
import { probeEnvironment } from '../devcontainer/probe-environment.ts'
import { runPreparations } from '../devcontainer/run-preparations.ts'
import { inDirectory } from '../path-text.ts'
import type { Phase } from '../timeline/phase.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import { cloneCommand, gitEnvironment } from './clone.ts'
import type { CreateRequest } from './create-request.ts'
import type { Repo } from './repo.ts'

interface PreparationContext {
  readonly progress: (message: string) => void
  /** Reports something that the user should know after the creation. */
  readonly warn: (message: string) => void
  readonly enterPhase: (phase: Phase) => void
  readonly signal: AbortSignal
  readonly logger: Logger
}

/** Returns whether a command belongs to the start rather than the creation. */
const isLate = ({ command }: LifecycleStep): boolean => /^post(Start|Attach)/.test(command)

/**
 * Runs the commands of a devcontainer.json in sequence, with the dotfiles before the start commands. As the
 * specification requires, a failure prevents the remaining commands.
 */
export async function prepareWorkspace(
  backend: Backend,
  { name, localDir, dotfiles, environment: requested }: CreateRequest,
  devContainer: DevContainer | undefined,
  context: PreparationContext,
): Promise<void> {
  const { steps = [], features = [] } = devContainer ?? {}
  if (steps.length + features.length > 0 || dotfiles !== undefined) context.enterPhase('hooks')
  const { folder = WORKSPACE_DIR } = devContainer?.placement ?? {}
  if (devContainer !== undefined)
    await makePlacement(backend, { name, localDir }, devContainer.placement, context.warn)
  let failed = await installFeatures(backend, name, features, context)
  const environment = {
    ...(devContainer !== undefined &&
      steps.length > 0 &&
      (await probe(backend, name, devContainer, context))),
    ...devContainer?.remoteEnvironment,
    ...requested,
  }
  const run = async (each: readonly LifecycleStep[]): Promise<void> => {
    for (const { command, programs, isInvalid } of each) {
      if (failed !== undefined) {
        context.warn(`devcontainer.json: ${command} did not run, because ${failed} failed`)
        continue
      }
      const placed = programs.map(({ argv, ...program }) => ({
        ...program,
        argv: folder === WORKSPACE_DIR ? argv : inDirectory(folder, argv),
        environment,
      }))
      const failures = await runPreparations(backend, name, placed, context)
      for (const failure of failures)
        warnOf(failure, `devcontainer.json: ${failure.name === command ? '' : `${command}: `}`, context)
      if (failures.length > 0 || isInvalid) failed = command
    }
  }
  await run(steps.filter((step) => !isLate(step)))
  if (dotfiles !== undefined)
    for (const each of await runPreparations(backend, name, [dotfilesPreparation(dotfiles)], context))
      warnOf(each, '', context)
  await run(steps.filter(isLate))
}

function warnOf(
  { name, why }: { readonly name: string; readonly why: string },
  prefix: string,
  { warn }: PreparationContext,
): void {
  warn(`${prefix}${name} ${why}; the workspace is running anyway`)
}

/** Installs features one after the other. Returns the name of the first that fails, after which none is installed. */
async function installFeatures(
  backend: Backend,
  name: string,
  features: readonly Feature[],
  context: PreparationContext,
): Promise<string | undefined> {
  if (features.length === 0) return undefined
  try {
    const login = await backend.loginEnvironment(name)
    for (const feature of features) {
      const installation = installationOf(feature, login)
      const [failure] = await runPreparations(backend, name, [installation], context)
      if (failure === undefined) continue
      warnOf(failure, 'devcontainer.json: ', context)
      return installation.name
    }
    return undefined
  } catch (error) {
    // Programs inside can make this fail, and the workspace is needed to see why.
    const why = `failed: ${messageOf(error)}`
    warnOf({ name: 'installing features', why }, 'devcontainer.json: ', context)
    return 'installing features'
  }
}

/** Returns the environment of the user's shell; a failure is reported, and the commands then run without it. */
async function probe(
  backend: Backend,
  name: string,
  { userEnvProbe }: DevContainer,
  { signal, warn }: PreparationContext,
): Promise<Readonly<Record<string, string>>> {
  const probed = await probeEnvironment(backend, name, userEnvProbe, signal)
  if ('environment' in probed) return probed.environment
  warn(
    `devcontainer.json: userEnvProbe failed (${probed.why}); the commands run without the environment of a login`,
  )
  return {}
}

/**
 * The installer names and their order are those of the devcontainer CLI and GitHub Codespaces; as there, dot
 * files are linked when no installer is found.
 */
const INSTALL = `
cd || exit
if [ -e dotfiles ]; then echo "dotfiles: there already, not cloned again"; else "$@" || exit; fi
# It was for the clone alone, and can hold a password.
unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_ALLOW_PROTOCOL GIT_TERMINAL_PROMPT GIT_SSH_COMMAND
cd dotfiles || exit
for script in install.sh install bootstrap.sh bootstrap script/bootstrap setup.sh setup script/setup; do
  [ -f "$script" ] || continue
  [ -x "$script" ] || chmod +x "$script"
  exec "./$script"
done
for file in .[!.]*; do
  case $file in .git|.gitignore|.gitmodules|.gitattributes|.github) continue ;; esac
  if [ -d "$HOME/$file" ] && [ ! -L "$HOME/$file" ]; then
    echo "dotfiles: $HOME/$file is a directory and stays"
  else
    ln -sfn "$PWD/$file" "$HOME/$file" || exit
  fi
done`

/** Returns the preparation that clones a dotfiles repository to `~/dotfiles` and installs it. */
function dotfilesPreparation(repo: Repo): Preparation {
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', ...cloneCommand(repo, 'dotfiles')]
  return { name: 'dotfiles', argv, environment: gitEnvironment(repo) }
}
