#include "lock-file.h"

#include <cerrno>

#include "../disk/lock-file.h"
#include "system-error.h"

namespace workspace::binding {

Napi::Value lockFile(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsBoolean())
    throw Napi::TypeError::New(env, "lockFile expects a descriptor (number) and isShared (boolean)");
  const int error = disk::lockFile(info[0].As<Napi::Number>().Int32Value(), info[1].As<Napi::Boolean>().Value());
  if (error == EWOULDBLOCK) return Napi::Boolean::New(env, false);
  if (error != 0) throw systemError(env, error, "flock", "");
  return Napi::Boolean::New(env, true);
}

}  // namespace workspace::binding
