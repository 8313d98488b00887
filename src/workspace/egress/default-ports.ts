/** Ports that URLs leave out. */
export const DEFAULT_PORTS = { https: 443, http: 80 } as const

/** Returns a host with its port, unless that is the default one. */
export function hostAndPort({
  scheme,
  host,
  port,
}: {
  readonly scheme: keyof typeof DEFAULT_PORTS
  readonly host: string
  readonly port: number
}): string {
  return port === DEFAULT_PORTS[scheme] ? host : `${host}:${port}`
}
