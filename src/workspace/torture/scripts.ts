// Scripts that the clients of a run execute inside workspaces, for a POSIX shell in /workspace.

/** Directory of a run's files, relative to /workspace. */
export const FILES_DIR = 'torture'
/** File to which programs append lines. */
const LINES = 'lines'
/** Suffix of files that a script has not completed. */
const PARTIAL = '.part'

/** Writes the bytes that standard input contains in Base64 to the file `$1`, flushed. */
export const WRITE_FLUSHED = `set -e
mkdir -p ${FILES_DIR} && cd ${FILES_DIR}
base64 -d >"$1${PARTIAL}"
sync "$1${PARTIAL}"
mv "$1${PARTIAL}" "$1"
sync .`

/** Appends the line `$1`, flushed. */
export const APPEND = `set -e
mkdir -p ${FILES_DIR} && cd ${FILES_DIR}
printf '%s\\n' "$1" >>${LINES}
sync ${LINES}`

/** Prints digests and names of all files, an empty line, and the appended lines. */
export const SHOW = `cd ${FILES_DIR} 2>/dev/null || { echo; exit 0; }
for file in * .[!.]*; do
  case $file in ${LINES} | *${PARTIAL}) continue ;; esac
  [ ! -f "$file" ] || sha256sum -- "$file"
done
echo
[ ! -e ${LINES} ] || cat ${LINES}`

/** Accepts one connection to the port of its argument, reads it to its end and returns everything, in Perl. */
export const ECHO_ONCE = `
use IO::Socket::INET;
alarm 60;
my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], ReuseAddr => 1) or die $!;
my $connection = $listener->accept;
local $/;
my $bytes = <$connection>;
print $connection $bytes;
close $connection;`
