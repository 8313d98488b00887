#include "system-error.h"

#include <cerrno>
#include <system_error>

namespace workspace::binding {

namespace {

// strerrorname_np exists only in glibc, and libuv's uv_err_name is not part of Node-API.
const char* nameOf(int number) {
  switch (number) {
    case E2BIG: return "E2BIG";
    case EACCES: return "EACCES";
    case EADDRINUSE: return "EADDRINUSE";
    case EADDRNOTAVAIL: return "EADDRNOTAVAIL";
    case EAFNOSUPPORT: return "EAFNOSUPPORT";
    case EAGAIN: return "EAGAIN";
    case EBUSY: return "EBUSY";
    case ECANCELED: return "ECANCELED";
    case EBADF: return "EBADF";
    case ECONNREFUSED: return "ECONNREFUSED";
    case EHOSTUNREACH: return "EHOSTUNREACH";
    case ECONNRESET: return "ECONNRESET";
    case EDQUOT: return "EDQUOT";
    case EEXIST: return "EEXIST";
    case EFBIG: return "EFBIG";
    case EINVAL: return "EINVAL";
    case EIO: return "EIO";
    case ELOOP: return "ELOOP";
    case EMFILE: return "EMFILE";
    case ENAMETOOLONG: return "ENAMETOOLONG";
    case ENETUNREACH: return "ENETUNREACH";
    case ENFILE: return "ENFILE";
    case ENOEXEC: return "ENOEXEC";
    case ENODEV: return "ENODEV";
    case ENOBUFS: return "ENOBUFS";
    case ENOENT: return "ENOENT";
    case ENOMEM: return "ENOMEM";
    case ENOSYS: return "ENOSYS";
    case ENOSPC: return "ENOSPC";
    case ENOTCONN: return "ENOTCONN";
    case ENOTDIR: return "ENOTDIR";
    case ENOTEMPTY: return "ENOTEMPTY";
    case ENXIO: return "ENXIO";
    case EOPNOTSUPP: return "EOPNOTSUPP";
    case EPERM: return "EPERM";
    case EPROTOTYPE: return "EPROTOTYPE";
    case EPIPE: return "EPIPE";
    case EROFS: return "EROFS";
    case ESRCH: return "ESRCH";
    case ESTALE: return "ESTALE";
    case ETIMEDOUT: return "ETIMEDOUT";
    case EXDEV: return "EXDEV";
    default: return "UNKNOWN";
  }
}

}  // namespace

Napi::Error systemError(Napi::Env env, int number, const std::string& syscall, const std::string& path) {
  const std::string code = nameOf(number);
  const std::string sentence = std::generic_category().message(number);
  Napi::Error error = Napi::Error::New(env, code + ": " + sentence + ", " + syscall + " '" + path + "'");
  error.Set("code", Napi::String::New(env, code));
  error.Set("errno", Napi::Number::New(env, -number));
  error.Set("syscall", Napi::String::New(env, syscall));
  error.Set("path", Napi::String::New(env, path));
  return error;
}

}  // namespace workspace::binding
