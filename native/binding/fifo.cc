#include "fifo.h"

#include <string>

#include "../fifo/fifo.h"
#include "system-error.h"

namespace workspace::binding {

Napi::Value makeFifo(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsString() || !info[1].IsNumber()) {
    throw Napi::TypeError::New(env, "makeFifo expects a path (string) and a mode (number)");
  }
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  const unsigned int mode = info[1].As<Napi::Number>().Uint32Value();
  if (path.find('\0') != std::string::npos) throw Napi::TypeError::New(env, "path holds a NUL");
  if (mode > 0777) throw Napi::RangeError::New(env, "mode must be between 0 and 0777");
  const int error = fifo::make(path.c_str(), static_cast<mode_t>(mode));
  if (error != 0) throw systemError(env, error, "mkfifo", path);
  return env.Undefined();
}

Napi::Value setPipeCapacity(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsNumber()) {
    throw Napi::TypeError::New(env, "setPipeCapacity expects a descriptor and bytes (numbers)");
  }
  const int fd = info[0].As<Napi::Number>().Int32Value();
  const double bytes = info[1].As<Napi::Number>().DoubleValue();
  if (!(bytes >= 1 && bytes <= 1073741824)) throw Napi::RangeError::New(env, "bytes must be between 1 and 1 GiB");
  return Napi::Boolean::New(env, fifo::setCapacity(fd, static_cast<int>(bytes)) == 0);
}

}  // namespace workspace::binding
