#include <napi.h>

#include "dial-loopback.h"
#include "fifo.h"
#include "set-user-timeout.h"
#include "walk-tree.h"

namespace workspace::binding {

static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("dialLoopback", Napi::Function::New(env, dialLoopback, "dialLoopback"));
  exports.Set("makeFifo", Napi::Function::New(env, makeFifo, "makeFifo"));
  exports.Set("setPipeCapacity", Napi::Function::New(env, setPipeCapacity, "setPipeCapacity"));
  exports.Set("setUserTimeout", Napi::Function::New(env, setUserTimeout, "setUserTimeout"));
  exports.Set("walkTree", Napi::Function::New(env, walkTree, "walkTree"));
  return exports;
}

}  // namespace workspace::binding

using workspace::binding::initialize;
NODE_API_MODULE(workspace_native, initialize)
