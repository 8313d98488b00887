#include "tcp-options.h"

#include "../tcp/options.h"

namespace workspace::binding {

Napi::Value setUserTimeout(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsNumber()) {
    throw Napi::TypeError::New(env, "setUserTimeout expects a descriptor and timeoutMs (numbers)");
  }
  const int fd = info[0].As<Napi::Number>().Int32Value();
  const double timeoutMs = info[1].As<Napi::Number>().DoubleValue();
  if (!(timeoutMs >= 0 && timeoutMs <= 86400000)) {
    throw Napi::RangeError::New(env, "timeoutMs must be between 0 and 86400000");
  }
  return Napi::Boolean::New(env, tcp::setUserTimeout(fd, static_cast<unsigned int>(timeoutMs)) == 0);
}

Napi::Value acknowledgeNow(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(env, "acknowledgeNow expects a descriptor (number)");
  }
  return Napi::Boolean::New(env, tcp::acknowledgeNow(info[0].As<Napi::Number>().Int32Value()) == 0);
}

}  // namespace workspace::binding
