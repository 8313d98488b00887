/** Copies text to the clipboard, also over plain HTTP from another machine, where the clipboard API is unavailable. */
export async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  // Outside the window, and without a style attribute, which the content security policy forbids.
  field.style.position = 'fixed'
  field.style.left = '-100vw'
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
