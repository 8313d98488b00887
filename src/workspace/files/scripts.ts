/**
 * Scripts that work on files inside a workspace, for a POSIX shell with the tools of coreutils or BusyBox. Their
 * arguments are never part of their text. Exit statuses below are errors of the request; a message is on standard
 * error.
 */
export const [NOT_FOUND, DENIED, CONFLICT, INVALID] = [44, 43, 49, 40] as const

const SHARED = `
export LC_ALL=C
refuse() { echo "$2" >&2; exit "$1"; }
need() {
  [ -e "$1" ] || [ -L "$1" ] || refuse ${NOT_FOUND} missing
}
explain() {
  case $1 in
    *'ermission denied'* | *'not permitted'* | *'ead-only file system'*) refuse ${DENIED} denied ;;
    *'No such file'*) refuse ${NOT_FOUND} missing ;;
    *) refuse ${CONFLICT} "$1" ;;
  esac
}
try() {
  error=$("$@" 2>&1 >/dev/null) || explain "$error"
}
`

/** Prints `ready`, and then the content of the file `$1` from its `$2`th byte, at most `$3` bytes unless empty. */
export const READ = `${SHARED}
need "$1"
[ -f "$1" ] || refuse ${CONFLICT} 'not a regular file'
[ -r "$1" ] || refuse ${DENIED} denied
echo ready
if [ -n "$3" ]; then tail -c "+$2" -- "$1" | head -c "$3"
elif [ "$2" != 1 ]; then exec tail -c "+$2" -- "$1"
else exec cat -- "$1"
fi`

/**
 * Writes standard input to the file `$1` if it has `$2` bytes, with mode `$3` unless empty, through the temporary
 * file `$4` in its directory, which is created if `$5` is set. Without `$2`, it must end with `$6`, which is removed. A file that cannot be replaced, because it is a
 * mount, is overwritten.
 */
export const WRITE = `${SHARED}
path=$1 bytes=$2 mode=$3 temporary=$4 parents=$5 mark=$6
if [ -L "$path" ]; then path=$(readlink -f -- "$path") || refuse ${CONFLICT} 'a broken link'; fi
[ ! -d "$path" ] || refuse ${CONFLICT} 'a directory'
[ ! -e "$path" ] || [ -w "$path" ] || refuse ${DENIED} denied
directory=\${path%/*}
[ -n "$directory" ] || directory=/
[ -z "$parents" ] || try mkdir -p -- "$directory"
[ -d "$directory" ] || refuse ${NOT_FOUND} 'missing directory'
[ -w "$directory" ] || refuse ${DENIED} denied
temporary=$directory/$temporary
trap 'rm -f -- "$temporary"' EXIT
# A signal interrupts the other trap, or the rm in it. A message for a client that has left raises SIGPIPE.
trap 'trap "" HUP INT TERM PIPE; rm -f -- "$temporary"; exit 1' HUP INT TERM PIPE
old=$(stat -c '%a %u:%g' -- "$path" 2>/dev/null)
error=$(cat 2>&1 >"$temporary") || explain "$error"
size=$(stat -c %s -- "$temporary")
if [ -n "$mark" ]; then
  bytes=$((size - \${#mark}))
  [ "$(tail -c "\${#mark}" -- "$temporary")" = "$mark" ] && try truncate -s "$bytes" -- "$temporary"
  size=$(stat -c %s -- "$temporary")
fi
[ "$size" = "$bytes" ] || refuse 1 'not all bytes arrived'
# Only root can give files away.
[ -z "$old" ] || chown "\${old#* }" -- "$temporary" 2>/dev/null
mode=\${mode:-\${old% *}}
[ -z "$mode" ] || try chmod "$mode" -- "$temporary"
mv -f -- "$temporary" "$path" 2>/dev/null || { error=$(cat -- "$temporary" 2>&1 >"$path") || explain "$error"; }`

const NEEDS_TAR = `command -v tar >/dev/null || refuse 1 'the image has no tar, which archives require; install it'
`

/**
 * Options with which tar leaves out the holes of sparse files: GNU tar's older format, which bsdtar, Python and Go read as
 * well. BusyBox has none, and writes zeros.
 */
export const SPARSE_OPTIONS = `$(tar --version 2>/dev/null | grep -q 'GNU tar' && echo --format=gnu --sparse)`

/**
 * Prints `ready`, and then the content of the directory `$1` as a tar archive. GNU tar's status 1 is that of files that
 * changed meanwhile.
 */
export const PACK = `${SHARED}
need "$1"
[ -d "$1" ] || refuse ${CONFLICT} 'not a directory'
[ -r "$1" ] && cd -- "$1" 2>/dev/null || refuse ${DENIED} denied
${NEEDS_TAR}echo ready
tar ${SPARSE_OPTIONS} -cf - .
status=$?
if [ $status = 1 ] && tar --version 2>/dev/null | grep -q 'GNU tar'; then exit 0; fi
exit $status`

/** Extracts the tar archive on standard input into the directory `$1`, which is created if `$2` is set. */
export const UNPACK = `${SHARED}
[ -z "$2" ] || [ -e "$1" ] || try mkdir -p -- "$1"
need "$1"
[ -d "$1" ] || refuse ${CONFLICT} 'not a directory'
[ -w "$1" ] && cd -- "$1" 2>/dev/null || refuse ${DENIED} denied
${NEEDS_TAR}error=$(tar -xpof - 2>&1 >/dev/null) && exit
# The first line is the cause of the others.
first=$(printf '%s\\n' "$error" | head -n 1)
case $error in
  *'not look like a tar'* | *'tar magic'* | *'short read'* | *'nexpected E'* | *'checksum'*) refuse ${INVALID} "$first" ;;
  *'ermission denied'* | *'not permitted'* | *'ead-only file system'*) refuse ${DENIED} denied ;;
  *'unknown typeflag'*) refuse ${CONFLICT} 'the archive has sparse files, which require GNU tar; install it' ;;
  *) refuse ${CONFLICT} "$first" ;;
esac`

/** Prints the entries of the directory `$1` in the format `$2` of stat. */
export const LIST = `${SHARED}
need "$1"
[ -d "$1" ] || refuse ${CONFLICT} 'not a directory'
[ -r "$1" ] && cd -- "$1" 2>/dev/null || refuse ${DENIED} denied
find . ! -name . -prune -exec stat -c "$2" -- {} + 2>/dev/null
exit 0`

/** Prints the file `$1` in the format `$2` of stat. */
export const STAT = `${SHARED}
need "$1"
exec stat -c "$2" -- "$1"`

/** Creates the directory `$1`. */
export const CREATE_DIRECTORY = `${SHARED}
[ ! -e "$1" ] || [ -d "$1" ] || refuse ${CONFLICT} 'exists and is not a directory'
try mkdir -p -- "$1"`

/** Moves the file or directory `$1` to `$2`, which is replaced if `$3` is set and it is not a directory. */
export const MOVE = `${SHARED}
need "$1"
[ ! -d "$2" ] || refuse ${CONFLICT} 'the target is an existing directory'
[ ! -e "$2" ] && [ ! -L "$2" ] || [ -n "$3" ] || refuse ${CONFLICT} 'the target exists'
try mv -f -- "$1" "$2"`

/** Removes the file or empty directory `$1`; with `$2` also a directory with files. */
export const REMOVE = `${SHARED}
need "$1"
if [ -d "$1" ] && [ ! -L "$1" ]; then
  if [ -n "$2" ]; then try rm -rf -- "$1"; else try rmdir -- "$1"; fi
else
  try rm -f -- "$1"
fi`

/**
 * Prints the entries below the directory `$1` in the format `$2` of stat, followed by the line `$3`, once for each line of
 * its input; with `$4` also those of directories in it.
 */
export const WATCH = `${SHARED}
need "$1"
[ -d "$1" ] || refuse ${CONFLICT} 'not a directory'
[ -r "$1" ] && cd -- "$1" 2>/dev/null || refuse ${DENIED} denied
while IFS= read -r line; do
  if [ -n "$4" ]; then find . ! -name . -exec stat -c "$2" -- {} + 2>/dev/null
  else find . ! -name . -prune -exec stat -c "$2" -- {} + 2>/dev/null
  fi
  echo "$3"
done`
