const META = /[*?{]/

/** Returns the part of a pattern before the first wildcard, without a trailing slash. */
export function fixedPartOf(pattern: string): string {
  const segments = pattern.split('/')
  const first = segments.findIndex((segment) => META.test(segment))
  return first < 0 ? pattern : segments.slice(0, first).join('/')
}

/** Whether a pattern has wildcards. */
export function isGlob(pattern: string): boolean {
  return META.test(pattern)
}

/**
 * Converts a pattern to the source of a regular expression for paths: `*` and `?` match within a segment, a segment of two asterisks
 * matches any number of segments, and braces with commas match one of several texts.
 */
export function globSource(pattern: string): string {
  let source = ''
  let depth = 0
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? ''
    const rest = pattern.slice(at)
    const isSegmentStart = at === 0 || pattern[at - 1] === '/'
    if (isSegmentStart && rest.startsWith('**/')) {
      source += '(?:[^/]+/)*'
      at += 2
    } else if (isSegmentStart && rest === '**') {
      source += '.+'
      at++
    } else if (char === '*') {
      // More asterisks mean the same, and would make matching slow.
      if (pattern[at - 1] !== '*') source += '[^/]*'
    } else if (char === '?') source += '[^/]'
    else if (char === '{' && rest.includes('}')) {
      source += '(?:'
      depth++
    } else if (char === '}' && depth > 0) {
      source += ')'
      depth--
    } else if (char === ',' && depth > 0) source += '|'
    else source += char.replace(/[\\^$.|+()[\]{}]/, '\\$&')
  }
  return source + ')'.repeat(depth)
}
