/** Names of variables, headers and parameters whose values are secrets (threat V4). */
const SECRET_NAME =
  /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|AUTHORIZATION|COOKIE|DSN|SIGNATURE)S?$|(?:^|_)(?:PAT|SIG)$|_(?:PASS|PWD)$|_(?:KEY|TOKEN|SECRET|PASSWORD)_/i
/** Tokens recognizable by their prefix. */
const TOKEN =
  /\b(?:gh[oprsu]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|npm_\w{16,}|AKIA[0-9A-Z]{16})/g
/** Password in a URL. It ends at the last `@` before the path, because an unencoded password may contain one. */
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s/]+@/gi
const MASK = '********'

/** Masks a value with a secret name, and passwords and tokens in any other value. */
export function maskValue(name: string, value: string): string {
  return SECRET_NAME.test(name.replaceAll('-', '_')) ? MASK : maskText(value)
}

/** Masks passwords in URLs and recognizable tokens. */
export function maskText(text: string): string {
  return text.replace(URL_PASSWORD, `$1${MASK}@`).replace(TOKEN, MASK)
}

/** Masks the values of parameters with secret names in a path and query. */
export function maskQuery(url: string): string {
  const at = url.indexOf('?')
  if (at < 0) return maskText(url)
  const parameters = url.slice(at + 1).split('&')
  const masked = parameters.map((parameter) => {
    const equals = parameter.indexOf('=')
    if (equals < 0) return maskText(parameter)
    const name = parameter.slice(0, equals)
    return `${name}=${maskValue(decoded(name), parameter.slice(equals + 1))}`
  })
  return `${maskText(url.slice(0, at))}?${masked.join('&')}`
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
