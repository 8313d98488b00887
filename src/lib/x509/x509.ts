// tsyringe, which @peculiar/x509 uses, requires this polyfill before it is loaded.
import 'reflect-metadata'

export * from '@peculiar/x509'
