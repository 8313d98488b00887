// Put before the sources of dependencies that build against NAN (ssh2's ciphers): node::ObjectWrap is NAN's own for them.
//
// Since 24.19, the class in Node's header takes a cleanup hook back in its destructor. The collector runs that with no context
// entered, which Node answers with abort(): the server would end when it collects a closed SSH connection
// (https://github.com/nodejs/node/issues/65446). NAN's class does the same work without hooks.

#if __has_include(<nan.h>)
#define SRC_NODE_OBJECT_WRAP_H_
#include <nan.h>

namespace node {
using Nan::ObjectWrap;
}
#endif
