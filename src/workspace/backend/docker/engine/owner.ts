import { stat } from 'node:fs/promises'
import type { ContainerInspectInfo } from 'dockerode'
import { WORKSPACE_DIR } from '../../../workspace.ts'
import type { BackendCreate, ExecProcess } from '../../backend.ts'

type RunAsRoot = (argv: readonly string[]) => Promise<ExecProcess>

/**
 * Returns the user a workspace on a host directory runs as: root for root's directories, whose files nobody
 * else could write, and otherwise the image's own user, to which `prepareOwner` assigns the owner's UID and
 * GID.
 */
export async function userFor(localDir: string): Promise<string | undefined> {
  return (await stat(localDir)).uid === 0 ? '0:0' : undefined
}

/**
 * Makes the files writable for the workspace's user: changes the owner of a new volume, or gives the user the
 * host owner's UID.
 */
export async function prepareOwner(
  report: ContainerInspectInfo,
  { localDir, adoptsFiles, user: wanted }: Pick<BackendCreate, 'localDir' | 'adoptsFiles' | 'user'>,
  run: RunAsRoot,
): Promise<void> {
  const { User: user, Labels: labels } = report.Config
  const isRoot = user === '' || /^(?:root|0)(?::|$)/.test(user)
  const [userName = user] = user.split(':')
  if (localDir !== '') {
    if (isRoot) return
    const { uid, gid } = await stat(localDir)
    // Only root can have root's number, and a user without a name has its own.
    if (uid === 0 || /^\d+$/.test(userName)) return
    return finish(await run(['/bin/sh', '-c', TAKE_NUMBERS, 'sh', userName, String(uid), String(gid)]))
  }
  // A new volume starts as a copy of the image's directory. In our own images the user owns it; where the
  // directory is missing, root does.
  const isOwner = isRoot || (wanted === undefined && labels['workspace.image'] === 'base')
  if (!adoptsFiles && isOwner) return
  await finish(await run(['/bin/sh', '-c', TAKE_FILES, 'sh', isRoot ? 'root' : userName, WORKSPACE_DIR]))
}

/** Checks the owner first: a large tree that the user already owns is left alone. */
const TAKE_FILES = `
user=$1 directory=$2
[ "$(stat -c %u "$directory")" = "$(id -u "$user" 2>/dev/null || echo "$user")" ] || chown -Rh "$user" "$directory"`

/**
 * Edits the files directly: usermod refuses while a process of the user runs, and the container's main
 * process does.
 */
const TAKE_NUMBERS = `
user=$1 uid=$2 gid=$3
[ "$(id -u "$user")" = "$uid" ] && exit
group=$(id -gn "$user") home=$(eval echo ~"$user")
sed -i "s/^\\($group:[^:]*\\):[0-9]*:/\\1:$gid:/" /etc/group &&
  sed -i "s/^\\($user:[^:]*\\):[0-9]*:[0-9]*:/\\1:$uid:$gid:/" /etc/passwd &&
  chown -R "$uid:$gid" "$home"`

async function finish(process: ExecProcess): Promise<void> {
  process.stdout.resume()
  process.stderr.resume()
  await process.exitStatus
}
