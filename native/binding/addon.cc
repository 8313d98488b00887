#include <napi.h>

#include "dial-loopback.h"
#include "pipe.h"
#include "set-user-timeout.h"
#include "walk-tree.h"

namespace workspace::binding {

static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("dialLoopback", Napi::Function::New(env, dialLoopback, "dialLoopback"));
  exports.Set("makePipe", Napi::Function::New(env, makePipe, "makePipe"));
  exports.Set("sendDescriptors", Napi::Function::New(env, sendDescriptors, "sendDescriptors"));
  exports.Set("setUserTimeout", Napi::Function::New(env, setUserTimeout, "setUserTimeout"));
  exports.Set("walkTree", Napi::Function::New(env, walkTree, "walkTree"));
  return exports;
}

}  // namespace workspace::binding

using workspace::binding::initialize;
NODE_API_MODULE(workspace_native, initialize)
