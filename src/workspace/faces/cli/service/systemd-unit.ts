import { commandOf, type Service, type ServiceProgram } from './service.ts'

interface UnitSettings {
  readonly description: string
  readonly after: string
  readonly lines: readonly string[]
  /**
   * Hardening for the system service manager. A user service manager cannot drop capabilities, and its system call filters
   * would also disable sudo.
   */
  readonly systemLines: readonly string[]
}

/** Hardening for all programs: neither they nor their child processes change the kernel log or the host name. */
const COMMON_HARDENING = ['ProtectKernelLogs=yes', 'ProtectHostname=yes']

const UNITS: Readonly<Record<ServiceProgram, UnitSettings>> = {
  workspace: {
    description: 'Workspace server',
    after: 'network-online.target docker.service podman.service',
    lines: [
      'Type=exec',
      '# Virtual machines are child processes and must keep running while the server is updated.',
      'KillMode=process',
      '# If the kernel kills a virtual machine for lack of memory, the server continues.',
      'OOMPolicy=continue',
      'TimeoutStopSec=15',
    ],
    systemLines: [
      ...COMMON_HARDENING,
      '# Instead of ProtectClock, which restricts devices: virtual machines need /dev/kvm, /dev/net/tun and /dev/vhost-vsock.',
      'SystemCallFilter=~@clock @swap @reboot @obsolete',
      'SystemCallErrorNumber=EPERM',
      'SystemCallArchitectures=native',
      'CapabilityBoundingSet=~CAP_SYS_TIME CAP_WAKE_ALARM CAP_SYSLOG CAP_SYS_BOOT CAP_SYS_TTY_CONFIG CAP_SYS_PACCT',
      'LockPersonality=yes',
      'RestrictRealtime=yes',
    ],
  },
  supervisor: {
    description: 'Process supervisor',
    after: 'network-online.target',
    lines: [
      '# It notifies systemd when it is ready.',
      'Type=notify',
      'ExecReload=kill -HUP $MAINPID',
      'KillMode=mixed',
      'OOMPolicy=continue',
      '# It creates a control group for each process.',
      'Delegate=yes',
      '# Longer than its shutdown_timeout.',
      'TimeoutStopSec=30',
    ],
    // It can run any process, so what a database, a browser or sudo needs stays allowed.
    systemLines: [
      ...COMMON_HARDENING,
      'ProtectKernelModules=yes',
      'SystemCallFilter=~@clock @reboot @obsolete',
      'SystemCallErrorNumber=EPERM',
    ],
  },
  'content-server': {
    description: 'Content server',
    after: 'network-online.target',
    lines: [
      'Type=exec',
      'TimeoutStopSec=15',
      'NoNewPrivileges=yes',
      'PrivateTmp=yes',
      'ProtectSystem=full',
      'ProtectControlGroups=yes',
      'ProtectKernelTunables=yes',
      'RestrictSUIDSGID=yes',
      'LockPersonality=yes',
      'RestrictRealtime=yes',
      'RestrictNamespaces=yes',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
      'SystemCallArchitectures=native',
    ],
    systemLines: [
      ...COMMON_HARDENING,
      'ProtectClock=yes',
      'ProtectKernelModules=yes',
      'PrivateDevices=yes',
      'SystemCallFilter=@system-service',
      'SystemCallErrorNumber=EPERM',
      'CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER',
    ],
  },
}

/** Returns a systemd unit. Source: systemd.service(5), systemd.exec(5), systemd.kill(5). */
export function systemdUnit(service: Service): string {
  const { program, directory, path, isSystemWide } = service
  const { description, after, lines, systemLines } = UNITS[program]
  const network = isSystemWide ? [`After=${after}`, 'Wants=network-online.target'] : []
  return [
    `# Written by "workspace install-service"; put secrets into the environment file.`,
    '[Unit]',
    `Description=${description}`,
    ...network,
    '',
    '[Service]',
    `ExecStart=${commandOf(service).map(quoteArgument).join(' ')}`,
    `WorkingDirectory=${directory.replaceAll('%', '%%')}`,
    `Environment=${quote(`PATH=${path}`)}`,
    // In the user's config directory for the program.
    `EnvironmentFile=-${isSystemWide ? `/etc/default/${program}` : `%h/.config/${program}/environment`}`,
    ...lines,
    ...(isSystemWide ? systemLines : []),
    'Restart=on-failure',
    'RestartSec=2',
    '# The maximum for a service: each connection uses a file descriptor.',
    'LimitNOFILE=524288',
    '',
    '[Install]',
    `WantedBy=${isSystemWide ? 'multi-user' : 'default'}.target`,
    '',
  ].join('\n')
}

/** Quotes an argument of a command line, in which a dollar sign also begins a variable. */
function quoteArgument(text: string): string {
  return quote(text).replaceAll('$', '$$$$')
}

/** Quotes a value for systemd, in which a percent sign begins a specifier. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
