import type { LoginEnvironment } from '../backend/backend.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import type { Feature } from './features.ts'
import type { Preparation } from './lifecycle-step.ts'

/** Runs the script of a feature in a copy of its folder, in which it may write. */
const INSTALL = `
copy=$(mktemp -d) || exit
trap 'rm -rf "$copy"' EXIT
cp -R -- "$1/." "$copy" && chown -R 0:0 "$copy" && chmod -R 0755 "$copy" && cd "$copy" && ./install.sh`

/**
 * Returns the program that installs a feature of a workspace's folder, as root. It gets the options as variables, and
 * those that the specification names (https://containers.dev/implementors/features/).
 */
export function installationOf(
  { id, folder, options }: Feature,
  { user, home }: Pick<LoginEnvironment, 'user' | 'home'>,
): Preparation {
  return {
    name: `feature ${id}`,
    argv: ['/bin/sh', '-c', INSTALL, 'sh', `${WORKSPACE_DIR}/${folder}`],
    user: '0',
    environment: {
      ...options,
      _CONTAINER_USER: user,
      _CONTAINER_USER_HOME: home,
      _REMOTE_USER: user,
      _REMOTE_USER_HOME: home,
    },
  }
}
