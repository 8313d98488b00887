import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'

/** A line of text with a button that copies it. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await copyText(text)
    setCopied(true)
  }
  return (
    <div class="copy-line">
      <code>{text}</code>
      <Button icon="copy" label={label} onClick={() => void copy()}>
        <span aria-live="polite">{isCopied ? texts.copied : texts.copy}</span>
      </Button>
    </div>
  )
}

/** Copies text to the clipboard, also over plain HTTP from another machine, where the clipboard API is unavailable. */
export async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'out-of-sight'
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
