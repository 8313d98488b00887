#include <napi.h>

#include "deallocate.h"
#include "dial-loopback.h"
#include "list-files.h"
#include "lock-file.h"
#include "log-store.h"
#include "match-names.h"
#include "pipe.h"
#include "prioritize.h"
#include "pty.h"
#include "read-classes.h"
#include "read-envelopes.h"
#include "read-extents.h"
#include "remove-tree.h"
#include "spawn.h"
#include "tcp-options.h"
#include "vsock.h"
#include "walk-trees.h"

namespace workspace::binding {

static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("dialLoopback", Napi::Function::New(env, dialLoopback, "dialLoopback"));
  exports.Set("bindLoopback", Napi::Function::New(env, bindLoopback, "bindLoopback"));
  exports.Set("listenVsock", Napi::Function::New(env, listenVsock, "listenVsock"));
  exports.Set("stopVsock", Napi::Function::New(env, stopVsock, "stopVsock"));
  exports.Set("connectVsock", Napi::Function::New(env, connectVsock, "connectVsock"));
  exports.Set("openDevice", Napi::Function::New(env, openDevice, "openDevice"));
  exports.Set("openPty", Napi::Function::New(env, openPty, "openPty"));
  exports.Set("resizePty", Napi::Function::New(env, resizePty, "resizePty"));
  exports.Set("listFiles", Napi::Function::New(env, listFiles, "listFiles"));
  exports.Set("lockFile", Napi::Function::New(env, lockFile, "lockFile"));
  exports.Set("matchNames", Napi::Function::New(env, matchNames, "matchNames"));
  exports.Set("makePipe", Napi::Function::New(env, makePipe, "makePipe"));
  exports.Set("sendDescriptors", Napi::Function::New(env, sendDescriptors, "sendDescriptors"));
  exports.Set("digestLayout", Napi::Function::New(env, digestLayout, "digestLayout"));
  exports.Set("factsLayout", Napi::Function::New(env, factsLayout, "factsLayout"));
  exports.Set("readClasses", Napi::Function::New(env, readClasses, "readClasses"));
  exports.Set("readEnvelopes", Napi::Function::New(env, readEnvelopes, "readEnvelopes"));
  exports.Set("openNestedArchive", Napi::Function::New(env, openNestedArchive, "openNestedArchive"));
  exports.Set("readNestedArchive", Napi::Function::New(env, readNestedArchive, "readNestedArchive"));
  exports.Set("closeNestedArchive", Napi::Function::New(env, closeNestedArchive, "closeNestedArchive"));
  exports.Set("readExtents", Napi::Function::New(env, readExtents, "readExtents"));
  exports.Set("readFiles", Napi::Function::New(env, readFiles, "readFiles"));
  exports.Set("prioritize", Napi::Function::New(env, prioritize, "prioritize"));
  exports.Set("acknowledgeNow", Napi::Function::New(env, acknowledgeNow, "acknowledgeNow"));
  exports.Set("silenceMs", Napi::Function::New(env, silenceMs, "silenceMs"));
  exports.Set("limitBackoff", Napi::Function::New(env, limitBackoff, "limitBackoff"));
  exports.Set("moveToTrash", Napi::Function::New(env, moveToTrash, "moveToTrash"));
  exports.Set("restoreFromTrash", Napi::Function::New(env, restoreFromTrash, "restoreFromTrash"));
  exports.Set("removeTrash", Napi::Function::New(env, removeTrash, "removeTrash"));
  exports.Set("punchHoles", Napi::Function::New(env, punchHoles, "punchHoles"));
  exports.Set("collapseFront", Napi::Function::New(env, collapseFront, "collapseFront"));
  exports.Set("restoreExtents", Napi::Function::New(env, restoreExtents, "restoreExtents"));
  exports.Set("saveExtents", Napi::Function::New(env, saveExtents, "saveExtents"));
  exports.Set("walkTrees", Napi::Function::New(env, walkTrees, "walkTrees"));
  exports.Set("LogStore", LogStore::define(env));
  exports.Set("ExitWatch", defineExitWatch(env));
  exports.Set("setSubreaper", Napi::Function::New(env, setSubreaper, "setSubreaper"));
  exports.Set("sendDatagram", Napi::Function::New(env, sendDatagram, "sendDatagram"));
  exports.Set("notifyManager", Napi::Function::New(env, notifyManager, "notifyManager"));
  exports.Set("reapChild", Napi::Function::New(env, reapChild, "reapChild"));
  exports.Set("spawnProgram", Napi::Function::New(env, spawnProgram, "spawnProgram"));
  return exports;
}

}  // namespace workspace::binding

using workspace::binding::initialize;
NODE_API_MODULE(workspace_native, initialize)
