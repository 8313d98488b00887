import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { fault } from '../errors.ts'

/** The proxy's certificate inside a workspace. */
const CA_FILE = '/etc/ssl/workspace-egress.pem'

/** Variables by which programs find the authority that signs the proxy's certificates. */
const CA_VARIABLES = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'NODE_EXTRA_CA_CERTS',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
  'DENO_CERT',
  'NIX_SSL_CERT_FILE',
] as const

const proxyUrl = (port: number): string => `http://127.0.0.1:${port}`

/** Names of the variables that a workspace with an egress profile gets. */
export const EGRESS_ENVIRONMENT: Readonly<Record<string, true>> = Object.fromEntries(
  Object.keys(proxyEnvironment(1)).map((name) => [name, true]),
)

/** Environment by which programs in a workspace use the proxy and trust it. */
export function proxyEnvironment(port: number): Readonly<Record<string, string>> {
  const url = proxyUrl(port)
  const hosts = 'localhost,127.0.0.1,::1'
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    NO_PROXY: hosts,
    http_proxy: url,
    https_proxy: url,
    no_proxy: hosts,
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(CA_VARIABLES.map((name) => [name, CA_FILE])),
  }
}

/**
 * Writes the certificate where the variables name it, and adds it to the system's own authorities for programs that
 * ignore them. The files appear whole: programs may be reading them. The system's own tools take up to a minute on an
 * emulated processor, so they follow in the background.
 */
const INSTALL = `
set -e
mkdir -p "\${1%/*}"
printf '%s' "$2" > "$1.new"
if cmp -s "$1.new" "$1"; then rm -f "$1.new"; exit 0; fi
chmod 644 "$1.new"
mv -f "$1.new" "$1"
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
  [ -f "$bundle" ] || continue
  bundle=$(readlink -f "$bundle")
  cat "$bundle" "$1" > "$bundle.new"
  chmod 644 "$bundle.new"
  mv -f "$bundle.new" "$bundle"
done
later() { (trap '' HUP; "$@") >/dev/null 2>&1 </dev/null & }
if command -v update-ca-certificates >/dev/null; then
  mkdir -p /usr/local/share/ca-certificates
  cp "$1" /usr/local/share/ca-certificates/workspace-egress.crt
  later update-ca-certificates
elif command -v update-ca-trust >/dev/null; then
  cp "$1" /etc/pki/ca-trust/source/anchors/workspace-egress.pem
  later update-ca-trust
fi`

/**
 * Makes programs of a running workspace trust an authority.
 *
 * @param certificate PEM
 * @throws BACKEND_ERROR when the file cannot be written
 */
export async function installAuthority(backend: Backend, name: string, certificate: string): Promise<void> {
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', CA_FILE, certificate]
  const { status, stderr } = await readProgram(await backend.exec(name, { argv, user: '0', stdin: false }))
  if (status === 0) return
  const why = stderr.trim().slice(0, 500) || `status ${status}`
  throw fault(
    'BACKEND_ERROR',
    `the egress proxy's certificate cannot be installed in workspace "${name}": ${why}`,
  )
}
