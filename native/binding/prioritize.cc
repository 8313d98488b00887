#include "prioritize.h"

#include "../schedule/schedule.h"

namespace workspace::binding {

Napi::Value prioritize(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(env, "prioritize expects a niceness (number)");
  }
  return Napi::Boolean::New(env, schedule::prioritize(info[0].As<Napi::Number>().Int32Value()) == 0);
}

}  // namespace workspace::binding
