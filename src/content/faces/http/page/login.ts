import { MAX_NEXT } from '../../../page/next.ts'

// Keeps the section of the requested page: browsers keep it in the address through redirects, but do not send it.
function withSection(next: string): string {
  const whole = next + location.hash
  return next.includes('#') || whole.length > MAX_NEXT ? next : whole
}

if (location.hash !== '') {
  for (const field of document.querySelectorAll<HTMLInputElement>('input[name="next"]'))
    field.value = withSection(field.value)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="/_login/"]')) {
    const url = new URL(link.href)
    url.searchParams.set('next', withSection(url.searchParams.get('next') ?? '/'))
    link.href = url.href
  }
}
