/**
 * Scripts that pack and unpack files inside a workspace, as its user. GNU tar is required: others lose sparse files,
 * extended attributes or times.
 */

/** Exit statuses of the scripts, with a message on standard error. */
export const [NO_TAR, UNREADABLE] = [45, 43] as const

const NEEDS_TAR = `export LC_ALL=C
tar --version 2>/dev/null | grep -q 'GNU tar' || exit ${NO_TAR}
`

/** Checks that tar exists and that all files below the directories given can be read. */
export const CHECK = `${NEEDS_TAR}
for directory; do
  found=$(find "$directory" -xdev '(' ! -readable -o -type d ! -executable ')' '(' -type f -o -type d ')' -print -quit 2>/dev/null)
  [ -z "$found" ] || { printf '%s\\n' "$found" >&2; exit ${UNREADABLE}; }
done`

/** Writes the directory `$1` as a tar archive in which its name is `$2`. */
export const PACK = `${NEEDS_TAR}
cd -- "$1" || exit
exec tar --create --file=- --format=posix --pax-option=delete=atime,delete=ctime --sparse --xattrs \\
  --numeric-owner --one-file-system --transform="s,^\\\\.,$2,S" .`

/**
 * Replaces the content of the directory `$1` by that of a tar archive in which its name is `$2`. A home that is the
 * workspace's directory `$3` keeps the files that were unpacked there before.
 */
export const UNPACK = `${NEEDS_TAR}
cd -- "$1" || exit
if [ "$2" = workspace ] || ! [ . -ef "$3" ]; then
  # Files of the image that the exported workspace may have deleted.
  find . -xdev -mindepth 1 -delete 2>/dev/null
fi
exec tar --extract --file=- --preserve-permissions --xattrs --numeric-owner --transform="s,^$2,.,S"`
