import { useState } from 'preact/hooks'
import { copyText } from '../../../../../lib/page/copy-text.ts'
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
