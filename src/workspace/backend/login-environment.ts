import type { ExecProcess, LoginEnvironment } from './backend.ts'
import { readProgram } from './read-program.ts'

/**
 * Reads /etc/passwd with only a POSIX shell, which every image must have. The last line printed is non-empty
 * when the workspace's name has an entry.
 */
const SCRIPT = `
user=$(id -un 2>/dev/null) || user=$(id -u); number=$user; home=\${HOME:-/}; shell=/bin/sh; named=
while IFS=: read -r name _ uid _ _ dir login; do
  if [ "$name" = "$user" ]; then number=$uid; home=$dir; shell=$login; fi
  if [ "$name" = "$1" ]; then named=yes; fi
done </etc/passwd
printf '%s\\n%s\\n%s\\n%s\\n%s\\n%s\\n' "$user" "$number" "$home" "$shell" "$(id -g)" "$named"`

/**
 * Appends a line in one write. A path that is not the real file, such as a link to a host file in a mounted
 * directory, is left alone.
 */
const ADD_ENTRY = `
name=$1 entry=$2 line_end='
'
[ -L /etc ] || [ -L /etc/passwd ] || ! [ -f /etc/passwd ] && exit
while IFS= read -r line; do
  case $line in "$name":*) exit ;; esac
done </etc/passwd
# What is left is a last line without an end.
case $line in "$name":*) exit ;; esac
printf '%s%s\\n' "\${line:+$line_end}" "$entry" >>/etc/passwd`

/** Returns the environment variables that describe the user of a login. */
export function loginVariables({ user, home, shell }: LoginEnvironment): Record<string, string> {
  return { USER: user, LOGNAME: user, HOME: home, SHELL: shell }
}

type RunInside = (argv: readonly string[], user?: string) => Promise<ExecProcess>

/**
 * Returns a workspace's user and login properties. Also gives that user the workspace's name, so that `~NAME`
 * is their home: Ansible and others expand the home of the user they log in as over SSH.
 */
export async function readLoginEnvironment(name: string, exec: RunInside): Promise<LoginEnvironment> {
  const { stdout } = await readProgram(await exec(['/bin/sh', '-c', SCRIPT, 'sh', name]))
  const [user, number, home, login, group, named] = stdout.split('\n')
  const environment = {
    user: user || 'root',
    userId: Number(number || 0),
    home: home || '/',
    shell: login === undefined || login === '' || login.endsWith('nologin') ? '/bin/sh' : login,
  }
  if (named === '') await addEntry(name, environment, group ?? '', exec)
  return environment
}

/**
 * Adds an entry to /etc/passwd after the user's own. If that fails, as in a read-only image, `~NAME` does not
 * expand.
 */
async function addEntry(
  name: string,
  { userId, home, shell }: LoginEnvironment,
  group: string,
  exec: RunInside,
): Promise<void> {
  const fields = [name, '*', String(userId), group, '', home, shell]
  // Commands such as chown look up a name before a number, and a numeric name would denote another user.
  if (/^\d+$/.test(name) || !/^\d+$/.test(group) || fields.some((field) => /[:\n]/.test(field))) return
  try {
    await readProgram(await exec(['/bin/sh', '-c', ADD_ENTRY, 'sh', name, fields.join(':')], '0'))
  } catch {
    // Not worth failing a login.
  }
}
