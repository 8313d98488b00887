// Included before the sources of dependencies that build against NAN (ssh2's ciphers), to give them NAN's own
// node::ObjectWrap.
//
// Since 24.19, the class in Node's header removes a cleanup hook in its destructor. The garbage collector runs that
// without an entered context, to which Node responds with abort(): the server would crash when a closed SSH
// connection is collected
// (https://github.com/nodejs/node/issues/65446). NAN's class does the same work without hooks.

#if __has_include(<nan.h>)
#define SRC_NODE_OBJECT_WRAP_H_
#include <nan.h>

namespace node {
using Nan::ObjectWrap;
}
#endif
