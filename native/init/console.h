#pragma once

namespace workspace::init {

/** Prints one line, `workspace-init: ` and what is told, on the kernel's console. */
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/** Says that this VM cannot start, in one line that begins `workspace-init: FAULT `, and turns it off. */
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

/** Whether the kernel was given this word. */
bool hasKernelWord(const char* word);

}  // namespace workspace::init
