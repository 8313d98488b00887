import { expect } from 'vitest'

/** Routes that the OpenAPI description leaves out. */
const HIDDEN = ['/openapi.json', '/metrics', '/reference', '/reference/', '/reference/static/index.css']

/** Returns every route of a server with its methods, documented or not. @param description the text of `/openapi.json` */
export function routesIn(description: string): readonly (readonly [method: string, path: string])[] {
  const { paths } = JSON.parse(description) as { readonly paths: Readonly<Record<string, object>> }
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  )
  expect(described.length).toBeGreaterThan(8)
  return [...described, ...HIDDEN.map((path) => ['GET', path] as const)]
}
