#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * readEnvelopes(bytes: Uint8Array, maxBytes: number): unknown[]. Reads the frames at the start of the bytes. The result
 * starts with the number of bytes consumed, undefined for all, and the length of the next frame if it exceeds the
 * limit, else undefined. Three values follow for each frame: a head, the payload as JSON, and the frame's length. A
 * head is the id, a letter for the type ("e" event, "q" request, "r" response, "f" the final one), a letter "0" + the
 * length of the timestamp, the timestamp, in_reply_to if there is one, and the namespace: one string, because creating
 * strings is expensive. A frame that is left to another reader has the offset of its bytes as head, and no payload.
 */
Napi::Value readEnvelopes(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
