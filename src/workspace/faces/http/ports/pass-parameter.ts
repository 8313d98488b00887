const PASS_PARAMETER = 'workspace-pass'

/** An address and the pass in it. */
export function withoutPass(url: string): { readonly pass: string | undefined; readonly path: string } {
  const at = url.indexOf('?')
  if (at < 0) return { pass: undefined, path: url }
  const query = url.slice(at + 1).split('&')
  const isPass = (each: string): boolean => each.startsWith(`${PASS_PARAMETER}=`)
  // The rest stays as it is written.
  const rest = query.filter((each) => !isPass(each)).join('&')
  const path = url.slice(0, at)
  return {
    pass: query.find(isPass)?.slice(PASS_PARAMETER.length + 1),
    path: rest === '' ? path : `${path}?${rest}`,
  }
}

/** An address that brings a pass. */
export function withPass(url: string, pass: string | undefined): string {
  return pass === undefined ? url : `${url}?${PASS_PARAMETER}=${pass}`
}
