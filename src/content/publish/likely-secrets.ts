import { open } from 'node:fs/promises'
import { mediaTypeOf } from '../page/content-type.ts'
import { hasSecret } from '../session/service-token.ts'

/** Names that files with passwords and keys usually have. Source: the rules of gitleaks and GitHub's gitignore templates. */
const NAMES: readonly RegExp[] = [
  /\.(?:pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx?|ovpn|kubeconfig|tfstate|tfvars|agekey)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /(?:^|\.)env$|^\.?env\.(?:local|dev|development|prod|production|stag\w*|test)(?:\.local)?$/,
  /^[._]?(?:npmrc|netrc|pypirc|pgpass|my\.cnf|htpasswd|git-credentials|dockercfg|vault-token|yarnrc\.yml)$/,
  /^\.?(?:credentials?|secrets?|tokens?|passwords?)(?:\.(?:json|ya?ml|toml|ini|txt|csv|xml|conf|cfg|properties))?$/,
  /^(?:service[-_.]?account|client[-_.]?secret|application_default_credentials).*\.json$/,
  /^(?:kubeconfig|wp-config\.php|auth\.json|master\.key)$/,
  // Backups of configurations.
  /\.(?:ya?ml|json|toml|ini|conf|env)(?:~|\.(?:bak|backup|old|orig|save))$/,
]
/** Folders of programs that keep passwords in them. */
const FOLDERS = new Set(['.git', '.hg', '.svn', '.ssh', '.aws', '.gnupg', '.kube', '.docker', '.azure'])
/** Pages, scripts and texts that show examples of secrets. */
const SHOWN = /\.(?:x?html?|css|m?js|map|svg|xml|md|rst)$/i
const MEDIA = /^(?:image|font|audio|video)\//
/** Larger files are not read. */
const MAX_BYTES = 64 * 1024
const CONTENT =
  /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY|^PuTTY-User-Key-File|AGE-SECRET-KEY-1|\$(?:scrypt|argon2id?)\$\S{20}/

/** Returns the path of a likely secret among the files to publish: the file's, or that of the folder that contains it. */
export function likelySecret(path: string): string | undefined {
  const segments = path.split('/')
  const at = segments.findIndex((segment, index) => index < segments.length - 1 && FOLDERS.has(segment))
  if (at >= 0) return segments.slice(0, at + 1).join('/')
  const name = segments.at(-1)?.toLowerCase() ?? ''
  return NAMES.some((pattern) => pattern.test(name)) ? path : undefined
}

/** Returns the kind of secret in a small file that is not a page: one of this server's, or another. */
export async function readSecret(
  file: string,
  size: number,
): Promise<'service token' | 'likely secret' | undefined> {
  if (size > MAX_BYTES || SHOWN.test(file) || MEDIA.test(mediaTypeOf(file))) return undefined
  const opened = await open(file)
  try {
    // A file that grows meanwhile stops the run later.
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(size), 0, size, 0)
    const text = buffer.toString('latin1', 0, bytesRead)
    if (hasSecret(text)) return 'service token'
    return CONTENT.test(text) ? 'likely secret' : undefined
  } finally {
    await opened.close()
  }
}
