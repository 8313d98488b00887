#include "tcp-options.h"

#include "../tcp/options.h"

namespace workspace::binding {

Napi::Value silenceMs(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(env, "silenceMs expects a descriptor (number)");
  }
  return Napi::Number::New(env, static_cast<double>(tcp::silenceMs(info[0].As<Napi::Number>().Int32Value())));
}

Napi::Value limitBackoff(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsNumber()) {
    throw Napi::TypeError::New(env, "limitBackoff expects a descriptor and limitMs (numbers)");
  }
  const int fd = info[0].As<Napi::Number>().Int32Value();
  const double limitMs = info[1].As<Napi::Number>().DoubleValue();
  if (!(limitMs >= 1000 && limitMs <= 120000)) {
    throw Napi::RangeError::New(env, "limitMs must be between 1000 and 120000");
  }
  return Napi::Boolean::New(env, tcp::limitBackoff(fd, static_cast<int>(limitMs)) == 0);
}

Napi::Value acknowledgeNow(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(env, "acknowledgeNow expects a descriptor (number)");
  }
  return Napi::Boolean::New(env, tcp::acknowledgeNow(info[0].As<Napi::Number>().Int32Value()) == 0);
}

}  // namespace workspace::binding
