import type { LoginEnvironment } from '../backend/backend.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import type { Feature } from './features.ts'
import type { Preparation } from './lifecycle-step.ts'

/** Runs the script of a feature in a copy of its folder, in which it may write, or of its archive in standard input. */
const INSTALL = `
copy=$(mktemp -d) || exit
trap 'rm -rf "$copy"' EXIT
if [ -n "$1" ]; then cp -R -- "$1/." "$copy"; else tar -xzf - -C "$copy"; fi && chown -R 0:0 "$copy" && chmod -R 0755 "$copy" && cd "$copy" && ./install.sh`

/**
 * Returns the program that installs a feature, as root. It gets the options as variables, and
 * those that the specification names (https://containers.dev/implementors/features/).
 */
export function installationOf(
  { id, content, options }: Feature,
  { user, home }: Pick<LoginEnvironment, 'user' | 'home'>,
): Preparation {
  return {
    name: `feature ${id}`,
    argv: ['/bin/sh', '-c', INSTALL, 'sh', typeof content === 'string' ? `${WORKSPACE_DIR}/${content}` : ''],
    ...(typeof content !== 'string' && { input: content }),
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
