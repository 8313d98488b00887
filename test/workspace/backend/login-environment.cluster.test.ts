// The common suite, on pods.
import './login-environment.test.ts'
