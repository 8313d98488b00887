#include "pipe.h"

#include <cstdint>
#include <vector>

#include "../pipe/pipe.h"
#include "system-error.h"

namespace workspace::binding {

Napi::Value makePipe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(env, "makePipe expects capacityBytes (number)");
  }
  const double bytes = info[0].As<Napi::Number>().DoubleValue();
  if (!(bytes >= 1 && bytes <= 1073741824)) {
    throw Napi::RangeError::New(env, "capacityBytes must be between 1 and 1 GiB");
  }
  pipe::Pipe made;
  const int error = pipe::make(static_cast<int>(bytes), made);
  if (error != 0) throw systemError(env, error, "pipe2", "");
  const Napi::Array ends = Napi::Array::New(env, 2);
  ends.Set(0u, Napi::Number::New(env, made.reader));
  ends.Set(1u, Napi::Number::New(env, made.writer));
  return ends;
}

Napi::Value sendDescriptors(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsArray()) {
    throw Napi::TypeError::New(env, "sendDescriptors expects a socket (number) and descriptors (array)");
  }
  const Napi::Array list = info[1].As<Napi::Array>();
  std::vector<int> descriptors;
  for (std::uint32_t i = 0; i < list.Length(); i++) {
    const Napi::Value each = list.Get(i);
    if (!each.IsNumber()) throw Napi::TypeError::New(env, "descriptors must be numbers");
    descriptors.push_back(each.As<Napi::Number>().Int32Value());
  }
  const int error = pipe::send(info[0].As<Napi::Number>().Int32Value(), descriptors);
  if (error != 0) throw systemError(env, error, "sendmsg", "");
  return env.Undefined();
}

}  // namespace workspace::binding
