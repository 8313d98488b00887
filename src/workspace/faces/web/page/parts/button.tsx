import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps {
  readonly onClick?: () => void
  /** Accessible name; required without `children`. */
  readonly label?: string
  readonly icon?: IconName
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet'
  readonly type?: 'button' | 'submit'
  readonly isDisabled?: boolean
  readonly children?: ComponentChildren
}

/** A button with an icon, a text or both. */
export function Button({
  onClick,
  label,
  icon,
  kind = 'plain',
  type = 'button',
  isDisabled = false,
  children,
}: ButtonProps) {
  return (
    <button
      type={type}
      class={`button ${kind}${children === undefined ? ' bare' : ''}`}
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}
