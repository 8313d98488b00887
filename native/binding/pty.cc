#include "pty.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "../pty/pty.h"
#include "../relay/relay.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

int sizeAt(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : 0;
  if (!(value >= 1 && value <= 65535)) throw Napi::RangeError::New(info.Env(), "a terminal has from 1 to 65535 columns and rows");
  return static_cast<int>(value);
}

}  // namespace

Napi::Value openPty(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  pty::Pty made;
  int error = pty::make(sizeAt(info, 0), sizeAt(info, 1), made);
  if (error != 0) throw systemError(env, error, "openpt", "");
  const int control = fcntl(made.near, F_DUPFD_CLOEXEC, 0);
  error = errno;
  const int socket = relay::attach(made.near);
  if (control < 0 || socket < 0) {
    if (control >= 0) error = -socket;
    for (const int fd : {control, socket, made.far}) {
      if (fd >= 0) close(fd);
    }
    throw systemError(env, error, "openpt", "");
  }
  const Napi::Array ends = Napi::Array::New(env, 3);
  std::uint32_t index = 0;
  for (const int fd : {socket, control, made.far}) ends.Set(index++, Napi::Number::New(env, fd));
  return ends;
}

Napi::Value resizePty(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[0].IsNumber()) throw Napi::TypeError::New(env, "resizePty expects a descriptor and a size");
  const int error = pty::resize(info[0].As<Napi::Number>().Int32Value(), sizeAt(info, 1), sizeAt(info, 2));
  if (error != 0) throw systemError(env, error, "ioctl", "");
  return env.Undefined();
}

}  // namespace workspace::binding
